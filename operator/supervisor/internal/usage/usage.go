// Package usage tells the caller's mistakes from ours.
package usage

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Error is a command line that cannot be carried out. Its text names the argument.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

// Errorf is an Error with this text.
func Errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Parse reads the flags. Errors: flag.ErrHelp, when help was asked for and is printed, or *Error: a mistake is told in one line, by the caller.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return err
	}
	if err != nil {
		return Errorf("%v", err)
	}
	return nil
}
