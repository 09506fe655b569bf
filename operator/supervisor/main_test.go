package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMistakeExitsWith2AndAFailureWith1(t *testing.T) {
	log := filepath.Join(t.TempDir(), "no-log")
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
		"unpack without place":  {[]string{"unpack", "a", "-"}, 2},
		"unpack from nowhere":   {[]string{"unpack", "/no/such/file", "-", "/no/such/folder"}, 1},
		"help of unpack":        {[]string{"unpack", "--help"}, 0},
		"connect with argument": {[]string{"connect", "x"}, 2},
		"version":               {[]string{"version"}, 0},
	} {
		if code := run(row.args, log); code != row.code {
			t.Errorf("%s: exit code %d, expected %d", name, code, row.code)
		}
	}
}

func TestInstallLeavesAProgram(t *testing.T) {
	folder := t.TempDir()
	if code := run([]string{"install", folder}, ""); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if info, err := os.Stat(filepath.Join(folder, "supervisor")); err != nil || info.Mode().Perm() != 0o111 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAnInitContainerLeavesTheReasonForItsFailure(t *testing.T) {
	for _, row := range []struct {
		args   string
		reason string
	}{
		{"install /no/such/folder", "supervisor install: write to /no/such/folder: "},
		{"install", "supervisor install: "},
		{"unpack /no/such/file - /no/such/folder", "supervisor unpack: /no/such/file to /no/such/folder: "},
		{"unpack /no/such/file", "supervisor unpack: "},
		{"serve", ""}, // Process 1 is somebody else.
		{"connect x", ""},
		{"version", ""},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		run(strings.Fields(row.args), log)
		text, err := os.ReadFile(log)
		if err != nil || !strings.HasPrefix(string(text), row.reason) || (row.reason == "") != (len(text) == 0) {
			t.Errorf("%s: %q, %v", row.args, text, err)
		}
	}
}
