package usage

import (
	"errors"
	"flag"
	"testing"
)

func TestAMistakeIsTheCallersAndHelpIsNone(t *testing.T) {
	for _, row := range []struct {
		args    []string
		help    bool
		mistake string
	}{
		{[]string{"--size", "3"}, false, ""},
		{[]string{"--size", "much"}, false, `invalid value "much" for flag -size: parse error`},
		{[]string{"--colour"}, false, "flag provided but not defined: -colour"},
		{[]string{"--help"}, true, ""},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.Int("size", 0, "a size")
		err := Parse(flags, row.args)
		var mistake *Error
		if errors.Is(err, flag.ErrHelp) != row.help || errors.As(err, &mistake) != (row.mistake != "") {
			t.Errorf("%v: %v", row.args, err)
		}
		if mistake != nil && mistake.Error() != row.mistake {
			t.Errorf("%v: %q", row.args, mistake)
		}
	}
}
