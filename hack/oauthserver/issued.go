package main

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

const mostIssued = 10_000

// issued is what was handed out, by its text, with what it stands for.
type issued[T any] struct {
	lock sync.Mutex
	kept map[string]item[T]
}

type item[T any] struct {
	about T
	until time.Time
}

// issue makes a text that nobody can guess, good for a while.
func (i *issued[T]) issue(prefix string, about T, lifetime time.Duration) (string, error) {
	text := prefix + rand.Text()
	return text, i.keep(text, about, time.Now().Add(lifetime))
}

// keep remembers a text until then; it is an error if it is there already.
func (i *issued[T]) keep(text string, about T, until time.Time) error {
	i.lock.Lock()
	defer i.lock.Unlock()
	if _, there := i.kept[text]; there || len(i.kept) >= mostIssued {
		return errors.New("it was issued before, or too much was")
	}
	if i.kept == nil {
		i.kept = map[string]item[T]{}
	}
	i.kept[text] = item[T]{about, until}
	return nil
}

// about says what a text stands for, if it is good.
func (i *issued[T]) about(text string) (T, bool) {
	i.lock.Lock()
	defer i.lock.Unlock()
	found, there := i.kept[text]
	return found.about, there && time.Now().Before(found.until)
}

// take says it once: the text is used up.
func (i *issued[T]) take(text string) (T, bool) {
	i.lock.Lock()
	defer i.lock.Unlock()
	found, there := i.kept[text]
	delete(i.kept, text)
	return found.about, there && time.Now().Before(found.until)
}
