package main

import (
	"encoding/json"
	"net/http"
	"time"
)

// adminHandler is for whoever started the program:
//
//	POST /login    {"seconds": 600}: a first pair of tokens, each access token of which is good for so long
//	POST /trouble  {"kind": …, "times": …, "status": …, "seconds": …, "lost": …}: what becomes of the next requests of a kind
//	POST /counts   how many requests there were since it was asked before, by kind and status
//	POST /waiting  how many requests of each kind wait now, as trouble makes them
//	POST /tokens   every token that went over the wire so far, given or shown, whatever its kind
func (s *site) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /trouble", s.trouble)
	mux.HandleFunc("POST /counts", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.ledger.taken()) })
	mux.HandleFunc("POST /waiting", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.ledger.held()) })
	mux.HandleFunc("POST /tokens", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.wire.tokens()) })
	return mux
}

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	tokens, err := s.provider.tokens(login{clientID, user, time.Duration(wanted.Seconds * float64(time.Second))})
	if err != nil {
		answer(w, http.StatusInsufficientStorage, err.Error())
		return
	}
	answer(w, http.StatusOK, tokens)
}

func (s *site) trouble(w http.ResponseWriter, r *http.Request) {
	var made trouble
	if err := json.NewDecoder(r.Body).Decode(&made); err != nil {
		answer(w, http.StatusBadRequest, err.Error())
		return
	}
	s.ledger.expect(made)
	answer(w, http.StatusOK, made)
}
