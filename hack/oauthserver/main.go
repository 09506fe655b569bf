// Command oauthserver is an identity provider, authorization servers, what they guard and a GitHub, for tests: each verifies all that a real one does.
//
// Everybody stands at one origin on 127.0.0.1, apart by path. Nothing is kept on disk, and it ends when its standard input does. What is said of it at the
// start is one line of JSON on standard output.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	longestBody   = 1 << 20
	longestAnswer = time.Minute
)

func main() {
	certificate := flag.String("certificate", "", "file with the certificate chain of 127.0.0.1, in PEM")
	key := flag.String("key", "", "file with its private key, in PEM")
	app := flag.String("app-key", "", "file with the public key of the GitHub App, in PEM")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // of the library, which writes of every request that fails
	if err := serve(*certificate, *key, *app); err != nil {
		_, _ = os.Stderr.WriteString("oauthserver: " + err.Error() + "\n")
		os.Exit(1)
	}
}

func serve(certificate, key, app string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	here, err := newSite("https://"+public.Addr().String(), app)
	if err != nil {
		return err
	}
	secured := tls.NewListener(public, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	failed := make(chan error, 3)
	go func() { failed <- listen(secured, here.handler()) }()
	go func() { failed <- listen(admin, here.adminHandler()) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	if err := json.NewEncoder(os.Stdout).Encode(here.introduction("http://" + admin.Addr().String())); err != nil {
		return err
	}
	return <-failed
}

func listen(on net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           http.MaxBytesHandler(handler, longestBody),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      longestAnswer,
		IdleTimeout:       longestAnswer,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // of clients that hang up
	}
	return server.Serve(on)
}
