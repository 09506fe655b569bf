package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func behaviour() []subcommand {
	return []subcommand{
		{"args …", "prints its arguments as a JSON list", func(args []string) error { return printJSON(append([]string{}, args...)) }},
		{"env", "prints its environment as a JSON object", env},
		{"cwd", "prints its working directory", cwd},
		{"cat", "copies stdin to stdout", func([]string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err }},
		{"echo TEXT", "prints TEXT and a line end", func(args []string) error { _, err := fmt.Println(args[0]); return err }},
		{"fail CODE [TEXT]", "prints TEXT to stderr, exits with CODE", fail},
		{"bytes", "writes all 256 byte values, four times over", allBytes},
		{"write STREAM TOTAL CHUNK", "writes TOTAL bytes to stdout, stderr or both (in turns), CHUNK a write; byte i is i mod 251", write},
		{"sleep DUR", "sleeps", func(args []string) error { time.Sleep(duration(args[0])); return nil }},
		{"ignore-term DUR", "ignores TERM, prints `ready`, sleeps", ignoreTerm},
		{"dwell DUR", "says on stderr what is in each folder that a variable names as its own, puts `kept` there, then does as ignore-term", dwell},
		{"listen DUR", "takes TCP connections to 127.0.0.1, prints its IP:PORT, stays so long", listen},
		{"on-term CODE", "prints `ready`, exits with CODE when TERM comes", onTerm},
		{"raise N", "ends by signal N from itself, default action", raise},
	}
}

func printJSON(value any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func env([]string) error {
	variables := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	return printJSON(variables)
}

func cwd([]string) error {
	folder, err := os.Getwd()
	if err == nil {
		fmt.Println(folder)
	}
	return err
}

func fail(args []string) error {
	if len(args) > 1 {
		fmt.Fprintln(os.Stderr, args[1])
	}
	os.Exit(number(args[0]))
	return nil
}

func allBytes([]string) error {
	var block []byte
	for i := range 4 * 256 {
		block = append(block, byte(i))
	}
	_, err := os.Stdout.Write(block)
	return err
}

// period is a prime, so that a piece lost or doubled shifts the pattern whatever the sizes of pieces are.
const period = 251

func write(args []string) error {
	streams, known := map[string][]int{"stdout": {1}, "stderr": {2}, "both": {1, 2}}[args[0]]
	total, chunk := number(args[1]), number(args[2])
	if !known || chunk < 1 {
		usage("write takes stdout, stderr or both, and a CHUNK of at least 1")
	}
	pattern := make([]byte, period+chunk)
	for i := range pattern {
		pattern[i] = byte(i % period)
	}
	for offset := 0; offset < total; offset += chunk {
		from := offset % period
		piece := pattern[from : from+min(chunk, total-offset)]
		for _, stream := range streams {
			if err := writeFully(stream, piece); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFully makes one write call per piece unless the kernel takes less of it.
func writeFully(fd int, piece []byte) error {
	for len(piece) > 0 {
		n, err := syscall.Write(fd, piece)
		if err != nil && !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EAGAIN) {
			return err
		}
		piece = piece[max(n, 0):]
	}
	return nil
}

func ignoreTerm(args []string) error {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ready")
	time.Sleep(duration(args[0]))
	return nil
}

// place is a folder as it was found.
type place struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode"`
	Held []string    `json:"held"`
}

// dwell puts the text of TOKEN into each folder that is said to be its own.
func dwell(args []string) error {
	places := map[string]place{}
	for _, name := range []string{"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		found, err := moveInto(os.Getenv(name))
		if err != nil {
			return err
		}
		places[name] = found
	}
	if err := json.NewEncoder(os.Stderr).Encode(places); err != nil {
		return err
	}
	return ignoreTerm(args)
}

func moveInto(folder string) (place, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return place{}, err
	}
	entries, err := os.ReadDir(folder)
	found := place{folder, info.Mode().Perm(), []string{}}
	for _, entry := range entries {
		found.Held = append(found.Held, entry.Name())
	}
	return found, errors.Join(err, os.WriteFile(folder+"/kept", []byte(os.Getenv("TOKEN")), 0o600))
}

func onTerm(args []string) error {
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGTERM)
	fmt.Println("ready")
	<-came
	os.Exit(number(args[0]))
	return nil
}

func listen(args []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	time.Sleep(duration(args[0]))
	return listener.Close()
}
