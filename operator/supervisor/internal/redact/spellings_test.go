package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// awkward has whatever some encoding writes in a way of its own.
const awkward = "p\u00e4/s <w>&\"\\~\t\n\x7f\U0001F511\u2028+="

// asWritten is what programs write of it: those of Go are asked, of others this is what they answered.
func asWritten() map[string]string {
	asJSON, _ := json.Marshal(awkward)
	return map[string]string{
		"as it is":                      awkward,
		"hex":                           hex.EncodeToString([]byte(awkward)),
		"hex, upper case":               fmt.Sprintf("%X", awkward),
		"query, by Go":                  url.QueryEscape(awkward),
		"query, lower case":             lowerPercents(url.QueryEscape(awkward)),
		"URL, by Python's quote":        `p%C3%A4/s%20%3Cw%3E%26%22%5C~%09%0A%7F%F0%9F%94%91%E2%80%A8%2B%3D`,
		"URL, no slash kept":            `p%C3%A4%2Fs%20%3Cw%3E%26%22%5C~%09%0A%7F%F0%9F%94%91%E2%80%A8%2B%3D`,
		"form, by Python's quote_plus":  `p%C3%A4%2Fs+%3Cw%3E%26%22%5C~%09%0A%7F%F0%9F%94%91%E2%80%A8%2B%3D`,
		"JSON, by Go":                   strings.Trim(string(asJSON), `"`),
		"JSON, by Python":               `p\u00e4/s <w>&\"\\~\t\n\u007f\ud83d\udd11\u2028+=`,
		"JSON, by Python, beyond ASCII": "p\u00e4" + `/s <w>&\"\\~\t\n` + "\x7f\U0001F511\u2028+=",
		"JSON, by PHP":                  `p\u00e4\/s <w>&\"\\~\t\n` + `\u007f\ud83d\udd11\u2028+=`,
	}
}

func lowerPercents(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:i+3], strings.ToLower(text[i:i+3]))
		}
	}
	return string(b)
}

func TestASecretIsReplacedInEveryFormInWhichProgramsWriteIt(t *testing.T) {
	for program, written := range asWritten() {
		for _, size := range []int{1, 7, 1 << 20} {
			if got := streamed(knowing(awkward), "before "+written+" after", always(size)); got != "before [redacted] after" {
				t.Errorf("%s: %q became %q", program, written, got)
			}
		}
	}
}

func TestASecretIsReplacedInTheBase64OfWhateverItStandsInButForCharactersThatSayMoreThanIt(t *testing.T) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for value := secret + "???>>>"; len(value) >= shortest; value = value[1:] {
			for before := range 7 {
				for after := range 4 {
					text := encoding.EncodeToString([]byte("basic ~"[:before] + value + "\xff\x00~"[:after]))
					first, end := (8*before+5)/6, 8*(before+len(value))/6
					if got, want := streamed(knowing(value), text, always(5)), text[:first]+Replacement+text[end:]; got != want {
						t.Errorf("%d before, %d after %d: %q became %q, not %q", before, after, len(value), text, got, want)
					}
				}
			}
		}
	}
}

func TestFormsThatAreTheSameAreLookedForOnce(t *testing.T) {
	for value, want := range map[string]int{"token-of_36.Characters-0123456789abcd": 6, "12345678": 5} {
		if got := spellings(value); len(got) != want {
			t.Errorf("%q has %d", value, len(got))
		}
	}
}

func TestNoFormIsShorterThanTheValue(t *testing.T) {
	for length := shortest; length < 99; length++ {
		for _, value := range []string{strings.Repeat("a", length), strings.Repeat("\xff", length), strings.Repeat("/", length)} {
			if i := slices.IndexFunc(spellings(value), func(s string) bool { return len(s) < length }); i >= 0 {
				t.Errorf("%q is", spellings(value)[i])
			}
		}
	}
}

func TestAValueThatIsNoTextIsFoundAsItIsAlsoInJSON(t *testing.T) {
	value := "\xff\xfe\x80key\xc3\"\xa4"
	text := "<" + value + "," + strings.ReplaceAll(value, `"`, `\"`) + ">"
	if got := streamed(knowing(value), text, always(3)); got != "<[redacted],[redacted]>" {
		t.Errorf("got %q", got)
	}
}
