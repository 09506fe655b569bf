// Command tool is the program that tests run as a tool: static, in need of nothing of an image, well behaved or an attacker as asked.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Exit codes apart from those a subcommand is asked for.
const (
	exitBroken  = 70 // the subcommand itself could not do its work: it proves nothing
	exitUsage   = 64
	exitRefused = 13
)

// subcommand is one thing the tool can do: its name with the arguments it takes, and what it does in a sentence.
type subcommand struct {
	usage string
	does  string
	run   func(args []string) error
}

func (s subcommand) name() string { return strings.Fields(s.usage)[0] }

// arity gives the fewest and the most arguments; -1 is any number.
func (s subcommand) arity() (fewest, most int) {
	for _, word := range strings.Fields(s.usage)[1:] {
		switch {
		case word == "…":
			return fewest, -1
		case strings.HasPrefix(word, "["):
			most++
		default:
			fewest++
			most++
		}
	}
	return fewest, most
}

func main() {
	if len(os.Args) < 2 {
		usage("which subcommand? `tool help` lists them")
	}
	name, args := os.Args[1], os.Args[2:]
	if name == "help" {
		help()
		return
	}
	for _, s := range all() {
		if s.name() != name {
			continue
		}
		if fewest, most := s.arity(); len(args) < fewest || most >= 0 && len(args) > most {
			usage("usage: tool " + s.usage)
		}
		if err := s.run(args); err != nil {
			fmt.Fprintf(os.Stderr, "tool %s: %v\n", name, err)
			os.Exit(exitBroken)
		}
		return
	}
	usage("no subcommand " + strconv.Quote(name) + "; `tool help` lists them")
}

func usage(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(exitUsage)
}

func all() []subcommand {
	var list []subcommand
	for _, group := range groups() {
		list = append(list, group.subcommands...)
	}
	return list
}

type group struct {
	title       string
	subcommands []subcommand
}

func groups() []group {
	return []group{
		{"Behaviour", behaviour()},
		{"Processes", processes()},
		{"Load", load()},
		{"Attacks on a process. An attack prints `succeeded …` and exits 0, or `refused: ERRNO …` and exits 13; another exit proves nothing", processAttacks()},
		{"Attacks through shared kernel objects", objectAttacks()},
		{"Attacks through files and sockets", fileAttacks()},
		{"Attacks through the network", networkAttacks()},
		{"Hands of the tests where they have no shell: for an exec into a sandbox, not for a call", hands()},
		{"What must go on working: the same two answers, and `refused` is the fault", ordinary()},
	}
}

func help() {
	fmt.Println("tool SUBCOMMAND [ARGUMENT]…    DUR is a Go duration (1.5s), sizes are in bytes, SIG and N are numbers")
	for _, g := range groups() {
		fmt.Printf("\n%s:\n", g.title)
		for _, s := range g.subcommands {
			fmt.Printf("  %-34s %s\n", s.usage, s.does)
		}
	}
}

// number and duration end the program on arguments that are none: a typing mistake must not look like a result.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		usage(strconv.Quote(text) + " is not a number")
	}
	return n
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		usage(strconv.Quote(text) + " is not a duration")
	}
	return d
}
