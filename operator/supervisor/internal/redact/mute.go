package redact

import (
	"fmt"
	"io"
)

// mute is in all that holds a secret. fmt does not ask it about what is in unexported fields of others, and follows pointers there ("%s" of what has
// a set printed its secrets); it follows no atomic.Pointer, which is therefore what leads to them.
type mute struct{}

// Format writes the replacement, whatever the verb.
func (mute) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, Replacement) }
