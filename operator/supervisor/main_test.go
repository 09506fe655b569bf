package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAMistakeExitsWith2AndAFailureWith1(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		code int
	}{
		"no command":            {nil, 2},
		"an unknown command":    {[]string{"destroy"}, 2},
		"serve without a key":   {[]string{"serve"}, 2},
		"serve with a bad flag": {[]string{"serve", "--colour"}, 2},
		"help is no mistake":    {[]string{"serve", "--help"}, 0},
		"install without place": {[]string{"install"}, 2},
		"install to nowhere":    {[]string{"install", "/no/such/folder"}, 1},
		"connect with argument": {[]string{"connect", "x"}, 2},
		"version":               {[]string{"version"}, 0},
	} {
		if code := run(row.args); code != row.code {
			t.Errorf("%s: exit code %d, expected %d", name, code, row.code)
		}
	}
}

func TestInstallLeavesAProgram(t *testing.T) {
	folder := t.TempDir()
	if code := run([]string{"install", folder}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if info, err := os.Stat(filepath.Join(folder, "supervisor")); err != nil || info.Mode().Perm() != 0o111 {
		t.Errorf("%v, %v", info, err)
	}
}
