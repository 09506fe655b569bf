package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// wire remembers every token that went over it, either way, so that whoever tests can look for them where they must not be.
type wire struct {
	lock sync.Mutex
	seen map[string]struct{}
}

// What holds a token in an answer; in a request, it is a bearer's or one of the form.
var (
	answered = []string{"access_token", "refresh_token", "id_token", "token"}
	posted   = []string{"refresh_token", "subject_token", "assertion"}
)

// tap remembers the tokens of a request and of its answer, before the answer is sent.
func (w *wire) tap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); bearer {
			w.note(token)
		}
		for _, name := range posted {
			w.note(r.PostFormValue(name))
		}
		next.ServeHTTP(&tapped{out, w}, r)
	})
}

func (w *wire) note(token string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.seen == nil {
		w.seen = map[string]struct{}{}
	}
	if token != "" && len(w.seen) < mostIssued {
		w.seen[token] = struct{}{}
	}
}

// tokens are all of them, in order.
func (w *wire) tokens() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	all := make([]string, 0, len(w.seen))
	for token := range w.seen {
		all = append(all, token)
	}
	slices.Sort(all)
	return all
}

// tapped is an answer whose tokens are noted; each is written at once here, as one object of JSON.
type tapped struct {
	http.ResponseWriter
	wire *wire
}

func (t *tapped) Write(text []byte) (int, error) {
	var object map[string]any
	if json.NewDecoder(bytes.NewReader(text)).Decode(&object) == nil {
		for _, name := range answered {
			token, _ := object[name].(string)
			t.wire.note(token)
		}
	}
	return t.ResponseWriter.Write(text)
}
