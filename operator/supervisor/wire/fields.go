package wire

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of fields, as PROTOCOL.md lists them.
const (
	MaxStdin    = 64 << 20
	MaxOutput   = 64 << 20
	MaxWindow   = 16 << 20
	maxMillis   = 7 * 24 * 3600 * 1000
	maxPids     = 4194304
	maxNumber   = 1<<53 - 1
	maxChannel  = 1<<32 - 1
	maxClient   = 256
	maxVersions = 64
	maxKeyHex   = 256
	maxUID      = 128
)

// fields takes the fields of one JSON object out, one by one, and keeps the first objection.
type fields struct {
	raw       map[string]json.RawMessage
	objection string
}

// take gives the raw value of a field and strikes it off. Absent and null are the same, and objected to.
func (f *fields) take(name string) (json.RawMessage, bool) {
	raw, there := f.takeOptional(name)
	if !there {
		f.object("%s is missing", name)
	}
	return raw, there
}

// takeOptional does the same with a field that may be absent.
func (f *fields) takeOptional(name string) (json.RawMessage, bool) {
	raw, there := f.raw[name]
	delete(f.raw, name)
	if !there || string(raw) == "null" {
		return nil, false
	}
	return raw, true
}

func (f *fields) object(format string, args ...any) {
	if f.objection == "" {
		f.objection = fmt.Sprintf(format, args...)
	}
}

// number is an integer within the bounds.
func (f *fields) number(name string, least, most int64) int64 {
	raw, there := f.take(name)
	if !there {
		return 0
	}
	var n int64
	if err := json.Unmarshal(raw, &n); err != nil || n < least || n > most {
		f.object("%s must be an integer from %d to %d", name, least, most)
		return 0
	}
	return n
}

func (f *fields) channel() uint32 { return uint32(f.number("channel", 1, maxChannel)) }
func (f *fields) id() int64       { return f.number("id", 1, maxNumber) }
func (f *fields) offset(name string) int64 {
	return f.number(name, 0, maxNumber)
}

// text is a string of at most so many bytes.
func (f *fields) text(name string, most int) string {
	raw, there := f.take(name)
	if !there {
		return ""
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || len(text) > most {
		f.object("%s must be a string of at most %d bytes", name, most)
		return ""
	}
	return text
}

func (f *fields) uid() string {
	uid := f.text("uid", maxUID)
	if !isUID(uid) {
		f.object("uid must be a letter or digit, then letters, digits, '.', '_' and '-'")
	}
	return uid
}

// isUID is written by hand: compiling a pattern would cost every shim half a millisecond, for its init runs there too.
func isUID(text string) bool {
	for i, c := range []byte(text) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alphanumeric && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return false
		}
	}
	return text != ""
}

// key is the bytes of the channel key.
func (f *fields) key() []byte {
	key, err := hex.DecodeString(f.text("key", maxKeyHex))
	if err != nil || len(key) == 0 {
		f.object("key must be 1 to %d bytes in hex", maxKeyHex/2)
	}
	return key
}

func (f *fields) versions() []int {
	raw, there := f.take("versions")
	var versions []int
	if !there {
		return nil
	}
	if err := json.Unmarshal(raw, &versions); err != nil || len(versions) == 0 || len(versions) > maxVersions {
		f.object("versions must be 1 to %d integers", maxVersions)
	}
	return versions
}

func (f *fields) argv() []string {
	raw, there := f.take("argv")
	var argv []*string
	if !there {
		return nil
	}
	if err := json.Unmarshal(raw, &argv); err != nil {
		f.object("argv must be a list of strings")
		return nil
	}
	words := make([]string, 0, len(argv))
	for i, word := range argv {
		if word == nil || strings.ContainsRune(*word, 0) {
			f.object("argv[%d] must be a string without NUL", i)
			return nil
		}
		words = append(words, *word)
	}
	if len(words) == 0 || words[0] == "" {
		f.object("argv must begin with the name of a command")
	}
	return words
}

func (f *fields) env() map[string]string {
	raw, there := f.take("env")
	var env map[string]*string
	if !there {
		return nil
	}
	if err := json.Unmarshal(raw, &env); err != nil {
		f.object("env must map names to strings")
		return nil
	}
	values := make(map[string]string, len(env))
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			f.object("env has a name that is empty, or holds = or NUL")
			return nil
		}
		if value == nil || strings.ContainsRune(*value, 0) {
			f.object("env %q must be a string without NUL", name)
			return nil
		}
		values[name] = *value
	}
	return values
}

// nested has the fields of an optional object read, all of them; it reports whether the object is there.
func (f *fields) nested(name string, read func(inner *fields)) bool {
	raw, there := f.takeOptional(name)
	if !there {
		return false
	}
	inner := &fields{}
	if err := json.Unmarshal(raw, &inner.raw); err != nil {
		f.object("%s must be an object", name)
		return true
	}
	read(inner)
	if unknown, there := inner.unknown(); there {
		inner.object("%.64q is not known", unknown)
	}
	if inner.objection != "" {
		f.object("%s.%s", name, inner.objection)
	}
	return true
}

// unknown is a field that nobody took.
func (f *fields) unknown() (string, bool) {
	for name := range f.raw {
		return name, true
	}
	return "", false
}
