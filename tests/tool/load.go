package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

func load() []subcommand {
	return []subcommand{
		{"alloc BYTES DUR", "fills BYTES of memory, prints `ready`, sleeps", alloc},
		{"spin DUR", "keeps one processor busy", spin},
		{"fill FILE BYTES", "writes BYTES of zeros to FILE", fill},
		{"reread FILE N", "reads FILE from its start to its end, N times over", reread},
		{"ledger FILE", "appends one line to FILE: a process that runs twice writes two", ledger},
	}
}

func alloc(args []string) error {
	block := make([]byte, number(args[0]))
	for i := 0; i < len(block); i += os.Getpagesize() {
		block[i] = 1
	}
	fmt.Println("ready")
	time.Sleep(duration(args[1]))
	fmt.Println("held", len(block))
	return nil
}

func spin(args []string) error {
	for end := time.Now().Add(duration(args[0])); time.Now().Before(end); {
	}
	return nil
}

func fill(args []string) error {
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for left := number(args[1]); left > 0; left -= len(zeros) {
		if _, err := file.Write(zeros[:min(left, len(zeros))]); err != nil {
			return err
		}
	}
	return file.Close()
}

func reread(args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	for range number(args[1]) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{file}); err != nil {
			return err
		}
	}
	return file.Close()
}

func ledger(args []string) error {
	file, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(file, "ran as process %d\n", os.Getpid()); err != nil {
		return err
	}
	return file.Close()
}
