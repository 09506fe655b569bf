package main

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ledger counts requests by their kind and the status of their answers, and makes the trouble it is told to make.
//
// The kind of a request is its method and path, and of one to a token endpoint also the last part of its grant type: "POST /idp/token refresh_token".
type ledger struct {
	lock    sync.Mutex
	counts  map[string]map[int]int
	coming  map[string]*trouble
	waiting map[string]int
}

// trouble is what becomes of the next requests of a kind: they wait, and are answered with a status at once; or served, and the answer is lost.
type trouble struct {
	Kind    string  `json:"kind"`
	Times   int     `json:"times"`
	Status  int     `json:"status"`
	Seconds float64 `json:"seconds"`
	Lost    bool    `json:"lost"`
}

func newLedger() *ledger {
	return &ledger{counts: map[string]map[int]int{}, coming: map[string]*trouble{}, waiting: map[string]int{}}
}

func kind(r *http.Request) string {
	name := r.Method + " " + r.URL.Path
	if grant := r.PostFormValue("grant_type"); grant != "" {
		name += " " + grant[strings.LastIndex(grant, ":")+1:]
	}
	return name
}

func (l *ledger) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := kind(r)
		told := &told{ResponseWriter: w, status: http.StatusOK}
		now := l.due(name)
		l.wait(name, min(time.Duration(now.Seconds*float64(time.Second)), longestAnswer))
		if now.Status != 0 {
			http.Error(told, "trouble made on purpose, with words that nobody keeps", now.Status)
		} else {
			next.ServeHTTP(told, r)
		}
		l.count(name, told.status)
		if now.Lost {
			panic(http.ErrAbortHandler) // which hangs up
		}
	})
}

// due is the trouble of this request.
func (l *ledger) due(name string) trouble {
	l.lock.Lock()
	defer l.lock.Unlock()
	now, there := l.coming[name]
	if !there || now.Times <= 0 {
		return trouble{}
	}
	now.Times--
	return *now
}

func (l *ledger) wait(name string, span time.Duration) {
	if span <= 0 {
		return
	}
	l.lock.Lock()
	l.waiting[name]++
	l.lock.Unlock()
	time.Sleep(span)
	l.lock.Lock()
	l.waiting[name]--
	l.lock.Unlock()
}

// held is how many requests of each kind are made to wait now.
func (l *ledger) held() map[string]int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return maps.Clone(l.waiting)
}

func (l *ledger) expect(made trouble) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.coming[made.Kind] = &made
}

func (l *ledger) count(name string, status int) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.counts[name] == nil {
		if len(l.counts) >= mostIssued {
			return
		}
		l.counts[name] = map[int]int{}
	}
	l.counts[name][status]++
}

// taken is what was counted since it was taken before.
func (l *ledger) taken() map[string]map[int]int {
	l.lock.Lock()
	defer l.lock.Unlock()
	counts := l.counts
	l.counts = map[string]map[int]int{}
	return counts
}

// told remembers the status of an answer.
type told struct {
	http.ResponseWriter
	status int
}

func (t *told) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}
