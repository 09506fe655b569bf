//go:build weaken

// Package measures says which protections a build leaves out: none, unless it was built to be attacked.
package measures

import (
	"os"
	"slices"
	"strings"
)

// Variable names the environment variable that lists the measures to leave out, separated by commas.
const Variable = "TOOLCALL_WITHOUT"

// Off reports whether the measure is to be left out, so that a test can see its attack succeed.
// The environment is read every time: tests change it.
func Off(name string) bool {
	return slices.Contains(strings.Split(os.Getenv(Variable), ","), name)
}
