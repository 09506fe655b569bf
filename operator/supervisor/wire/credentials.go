package wire

import (
	"encoding/json"
	"fmt"
	"io"
)

// Workspace is what a call sees of the workspace.
type Workspace string

// What a call that carries credentials may be left of the workspace.
const (
	WorkspaceShared   Workspace = "" // all that every call sees of it
	WorkspaceReadOnly Workspace = "ReadOnly"
	WorkspaceNone     Workspace = "None"
)

// Credentials are the variables of one process that hold secrets, with what keeps them from others. In no text do they show what they are.
type Credentials struct {
	Env       map[string]string // not empty
	Redacted  bool              // their values are left out of whatever calls write from now on
	Workspace Workspace
	Exclusive bool // the call runs while no other does
}

// Format writes four stars, whatever the verb.
func (Credentials) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, "****") }

// credentials are nil for a call that carries none; env is the rest of its environment.
func (f *fields) credentials(env map[string]string) *Credentials {
	var c Credentials
	if !f.nested("credentials", func(inner *fields) {
		c = Credentials{Env: inner.env(), Redacted: !inner.only("redaction", "Off"), Workspace: inner.workspace(), Exclusive: inner.set("exclusive")}
		inner.apart(c.Env, env)
	}) {
		return nil
	}
	return &c
}

// apart objects to credentials that are none, or that the rest of the environment names as well.
func (f *fields) apart(credentials, env map[string]string) {
	if len(credentials) == 0 {
		f.object("env must name at least one variable")
	}
	for name := range credentials {
		if _, there := env[name]; there {
			f.object("env %.64q is a name of the other env, too", name)
		}
	}
}

func (f *fields) workspace() Workspace {
	raw, there := f.takeOptional("workspace")
	if !there {
		return WorkspaceShared
	}
	var w Workspace
	if err := json.Unmarshal(raw, &w); err != nil || w != WorkspaceReadOnly && w != WorkspaceNone {
		f.object("workspace must be %q or %q, or absent", WorkspaceReadOnly, WorkspaceNone)
	}
	return w
}

// set reports whether a field is there that can only be true.
func (f *fields) set(name string) bool {
	raw, there := f.takeOptional(name)
	if there && string(raw) != "true" {
		f.object("%s must be true, or absent", name)
	}
	return there
}
