package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// client is the least that speaks to a supervisor: one call at a time, whose output is never much.
type client struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	calls   int
}

type message struct {
	Type    string `json:"type"`
	Code    any    `json:"code"`
	Cause   string `json:"cause"`
	Message string `json:"message"`
}

// connect starts the supervisor on its own stdio and exchanges hellos.
func connect(argv []string) (*client, error) {
	process := exec.Command(argv[0], argv[1:]...)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	c := &client{process: process, in: in, out: bufio.NewReader(out)}
	hello := map[string]any{"type": "hello", "versions": []int{1}, "key": os.Getenv("BENCH_KEY"), "epoch": 0, "client": "baseline"}
	_, err = c.ask(hello, "hello")
	return c, err
}

// run starts a call and waits for its exit.
func (c *client) run(tool string) error {
	c.calls++
	start := map[string]any{
		"type": "start", "channel": c.calls, "uid": c.uid(), "argv": []string{tool}, "env": map[string]string{}, "stdinSize": 0,
		"timeoutMs": 60000, "graceMs": 1000, "outputBytes": 1024, "pids": 64, "stdoutOffset": 0, "stderrOffset": 0, "window": 65536,
	}
	exit, err := c.ask(start, "exit")
	if err == nil && (exit.Cause != "Exited" || exit.Code != 0.0) {
		err = fmt.Errorf("%s ended %s, code %v", tool, exit.Cause, exit.Code)
	}
	return err
}

func (c *client) acknowledge() error {
	_, err := c.ask(map[string]any{"type": "acknowledge", "id": 1, "uid": c.uid()}, "acknowledged")
	return err
}

func (c *client) uid() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", c.calls) }

// ask sends a control frame and reads until the answer of the type that is waited for.
func (c *client) ask(request map[string]any, answer string) (message, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return message{}, err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
	if _, err := c.in.Write(append(append(frame, 1), body...)); err != nil {
		return message{}, err
	}
	for {
		got, err := c.next()
		if err != nil || got.Type == answer {
			return got, err
		}
		if got.Type == "refused" {
			return got, fmt.Errorf("refused %v: %s", got.Code, got.Message)
		}
	}
}

func (c *client) next() (message, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.out, head[:]); err != nil {
		return message{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:])-1)
	if _, err := io.ReadFull(c.out, body); err != nil {
		return message{}, err
	}
	var got message
	if head[4] != 1 {
		return got, nil
	}
	return got, json.Unmarshal(body, &got)
}

func (c *client) close() {
	_ = c.in.Close()
	_ = c.process.Wait()
}
