package serve

import (
	"errors"
	"io"
	"os"
	"time"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/server"
)

// stdio is stdin and stdout as one stream.
type stdio struct {
	io.Reader
	io.Writer
}

// overStdio serves one operator, and ends with it: nobody could come back for the calls.
func overStdio(s *server.Server, registry *calls.Registry, terminated <-chan os.Signal) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(stdio{os.Stdin, os.Stdout}) }()
	select {
	case err := <-served:
		registry.KillAll()
		return errors.Join(err, registry.AwaitEnd(killing))
	case <-terminated:
		return windUp(registry, farewell)
	}
}

// farewell is how long the operator on stdio has to take the last exits.
const farewell = 2 * time.Second
