package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings are the forms of a value that are looked for: as it is, and as programs encode it. None is short.
func spellings(value string) []string {
	if len(value) < shortest {
		return nil
	}
	all := []string{value}
	all = append(all, inBase64(value)...)
	all = append(all, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	all = append(all, inPercent(value)...)
	all = append(all, inJSON(value)...)
	var long []string
	for _, spelled := range all {
		if len(spelled) >= shortest {
			long = append(long, spelled)
		}
	}
	return long
}

// inBase64 is what a value looks like in the base64 of a text that it stands in, wherever it begins there: the characters that no other byte decides.
func inBase64(value string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			first := (before*8 + 5) / 6            // the first character that has no bit of what stands before
			whole := (before + len(value)) * 8 / 6 // the characters that are full without what comes behind
			all = append(all, encoded[first:max(first, whole)])
		}
	}
	return all
}

// inPercent is a value in a URL (https://www.rfc-editor.org/rfc/rfc3986#section-2.1) or a form, where programs disagree on a slash and a blank.
func inPercent(value string) []string {
	var all []string
	for _, form := range []string{"%%%02X", "%%%02x"} {
		for _, kept := range []string{"", "/"} {
			for _, blank := range []string{fmt.Sprintf(form, ' '), "+"} {
				all = append(all, percent(value, form, kept, blank))
			}
		}
	}
	return all
}

func percent(value, form, kept, blank string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c == ' ':
			b.WriteString(blank)
		case isUnreserved(c) || strings.IndexByte(kept, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, form, c)
		}
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// escapes are how writers of JSON differ: what they spell out although they need not.
type escapes struct {
	beyondASCII bool
	html        bool // as Go does, for browsers
	slash       bool // as PHP does
}

// inJSON is a value in a text of JSON, without its quotes.
func inJSON(value string) []string {
	var all []string
	for _, e := range []escapes{{}, {beyondASCII: true}, {html: true}, {html: true, beyondASCII: true}, {slash: true}, {slash: true, beyondASCII: true}} {
		all = append(all, e.escaped(value))
	}
	return all
}

func (e escapes) escaped(value string) string {
	var b strings.Builder
	for _, r := range value {
		switch {
		case r == '"' || r == '\\' || e.slash && r == '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case e.html && (r == '<' || r == '>' || r == '&') || e.beyondASCII && r > '~':
			units := utf16.AppendRune(nil, r)
			for _, unit := range units {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		case r == utf8.RuneError:
			return "" // the value is no text, and in no text
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
