package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// patterns are the forms of a value that are looked for.
func patterns(value string) []*pattern {
	var all []*pattern
	for _, spelled := range spellings(value) {
		all = append(all, newPattern(spelled))
	}
	return all
}

// spellings are a value as it is, and as programs encode it, each once. None is shorter than the value, if that is not short itself.
func spellings(value string) []string {
	all := []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	all = append(all, inBase64(value)...)
	all = append(all, inPercent(value)...)
	all = append(all, inJSON(value)...)
	all = append(all, quoted(value)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// inBase64 is what a value looks like in the base64 of a text that it stands in, wherever it begins there: the characters that no other byte decides.
func inBase64(value string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			first := (before*8 + 5) / 6            // the first character that has no bit of what stands before
			whole := (before + len(value)) * 8 / 6 // the characters that are full without what comes behind
			all = append(all, encoded[first:whole])
		}
	}
	return all
}

// kept are the characters beside letters, digits, '-', '_' and '.' that are written as they are: by https://www.rfc-editor.org/rfc/rfc3986#section-2.3,
// in paths, by JavaScript, and in forms (https://url.spec.whatwg.org/#application-x-www-form-urlencoded-percent-encode-set), with and without the star.
var kept = []string{"~", "~/", "~!'()*", "*", ""}

// inPercent is a value in a URL or a form, where programs disagree on which characters have to be escaped, and on a blank.
func inPercent(value string) []string {
	var all []string
	for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
		for _, kept := range kept {
			for _, blank := range []string{"%20", "+"} {
				all = append(all, percent(value, digits, kept, blank))
			}
		}
	}
	return all
}

func percent(value, digits, kept, blank string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c == ' ':
			b.WriteString(blank)
		case isPlain(c) || strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._", c) >= 0
}

// quoted is a value in single quotes, without them: of a shell that traces what it does, and as Python shows a text.
func quoted(value string) []string {
	return []string{
		strings.ReplaceAll(value, "'", `'\''`),
		strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value),
		strings.ReplaceAll(value, `\`, `\\`),
	}
}

// escapes are how writers of JSON differ: what they spell out although they need not.
type escapes struct {
	beyondASCII bool // as Python does
	html        bool // as Go does, for browsers
	slash       bool // as PHP does
}

// inJSON is a value in a text of JSON, without its quotes.
func inJSON(value string) []string {
	var all []string
	for _, beyondASCII := range []bool{false, true} {
		for _, e := range []escapes{{}, {html: true}, {slash: true}} {
			e.beyondASCII = beyondASCII
			all = append(all, e.escaped(value))
		}
	}
	return all
}

// short is how JSON escapes what has a letter for it (https://www.rfc-editor.org/rfc/rfc8259#section-7).
var short = [utf8.RuneSelf]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func (e escapes) escaped(value string) string {
	var b strings.Builder
	for len(value) > 0 {
		r, size := utf8.DecodeRuneInString(value)
		switch {
		case r < utf8.RuneSelf && short[r] != "":
			b.WriteString(short[r])
		case r == '/' && e.slash:
			b.WriteString(`\/`)
		case e.spells(r) && (r != utf8.RuneError || size > 1):
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteString(value[:size]) // also what is no UTF-8: a program that writes it at all writes it so
		}
		value = value[size:]
	}
	return b.String()
}

// spells says whether a character is written as its number.
func (e escapes) spells(r rune) bool {
	return r < ' ' || e.beyondASCII && r > '~' || e.html && strings.ContainsRune("<>&\u2028\u2029", r)
}
