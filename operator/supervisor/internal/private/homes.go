// Package private makes folders that are one call's alone, and removes them with whatever is in them then.
package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// ownersOnly are the rights on each folder of a home.
const ownersOnly = 0o700

// nameLength is how many letters name a home. Landlock guards what is in a folder, but not its rights, nor who asks what is there: whoever knew the
// name of another call's home could lock that call out of it. 16 letters of 32 cannot be guessed.
const nameLength = 16

// places are the folders of a home, by the variable that names each.
var places = map[string]string{
	"HOME":            "home",
	"TMPDIR":          "tmp",
	"XDG_CONFIG_HOME": "config",
	"XDG_CACHE_HOME":  "cache",
	"XDG_DATA_HOME":   "data",
	"XDG_STATE_HOME":  "state",
	"XDG_RUNTIME_DIR": "run",
}

// Homes is the folder in which homes lie. No call has a right on it. Once one was asked for, others are made in advance: a disk was seen that took 5 ms
// for a home, as long as all else takes that starts a call.
type Homes struct {
	path      string
	dir       *os.File
	spares    chan *Home
	supplying sync.WaitGroup
}

// Home is the folders of one call. A nil Home is none, and can be removed.
type Home struct {
	homes *Homes
	name  string
	left  []string // what is to be removed: under its name at first, and then whatever could not be
}

// Open takes over a folder of homes, and removes what is left there of an earlier boot. The path is a real one. At most so many are made in advance: none
// where nothing keeps the calls that run meanwhile out of the folder.
func Open(path string, spares int) (*Homes, error) {
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	h := &Homes{path: path, dir: dir, spares: make(chan *Home, spares)}
	left, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	_, err = h.remove(left...)
	return h, err
}

// Path is its name.
func (h *Homes) Path() string { return h.path }

func (h *Homes) fd() int { return int(h.dir.Fd()) }

// New gives a home; all its folders are there, and empty.
func (h *Homes) New() (*Home, error) {
	if cap(h.spares) > 0 {
		h.supplying.Go(h.supply)
	}
	select {
	case home := <-h.spares:
		return home, nil
	default:
		return h.make()
	}
}

// supply makes one more, unless there are enough.
func (h *Homes) supply() {
	home, err := h.make()
	if err != nil { // Met again, and told, by the call that finds none.
		return
	}
	select {
	case h.spares <- home:
	default:
		_ = home.Remove() // Left to the next boot, if it cannot be.
	}
}

func (h *Homes) make() (*Home, error) {
	name := rand.Text()[:nameLength]
	home := &Home{h, name, []string{name}}
	err := unix.Mkdirat(h.fd(), home.name, ownersOnly)
	for _, place := range places {
		if err == nil {
			err = unix.Mkdirat(h.fd(), filepath.Join(home.name, place), ownersOnly)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a private home: %w", err), home.Remove())
	}
	return home, nil
}

// Close removes the homes that nobody was given.
func (h *Homes) Close() error {
	h.supplying.Wait()
	var err error
	for range len(h.spares) {
		err = errors.Join(err, (<-h.spares).Remove())
	}
	return errors.Join(err, h.dir.Close())
}

// Path is the folder that holds all of them.
func (h *Home) Path() string { return filepath.Join(h.homes.path, h.name) }

// Env is the variables that name the folders.
func (h *Home) Env() map[string]string {
	env := make(map[string]string, len(places))
	for name, place := range places {
		env[name] = filepath.Join(h.Path(), place)
	}
	return env
}

// Remove removes the home, or what an earlier attempt has left of it. Nobody uses it any more.
func (h *Home) Remove() (err error) {
	if h == nil {
		return nil
	}
	h.left, err = h.homes.remove(h.left...)
	return err
}
