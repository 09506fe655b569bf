package serve

import (
	"log"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"toolcall-operator/supervisor/calls"
	"toolcall-operator/supervisor/connect"
	"toolcall-operator/supervisor/internal/measures"
	"toolcall-operator/supervisor/internal/proctree"
	"toolcall-operator/supervisor/server"
)

// overSocket serves whoever `connect` brings, until it is told to end.
func overSocket(s *server.Server, registry *calls.Registry, terminated <-chan os.Signal) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: connect.Address})
	if err != nil {
		return err
	}
	go accept(listener, s)
	<-terminated
	return windUp(registry, lingers)
}

func accept(listener *net.UnixListener, s *server.Server) {
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			log.Printf("accept: %v", err)
			time.Sleep(100 * time.Millisecond) // Out of descriptors, most likely: some come back.
			continue
		}
		go serve(conn, s)
	}
}

func serve(conn *net.UnixConn, s *server.Server) {
	defer func() { _ = conn.Close() }()
	if !isFromOutside(conn) && !measures.Off("peercheck") {
		log.Print("refused a connection from inside the sandbox")
		return
	}
	if err := s.Serve(conn); err != nil {
		log.Printf("a connection ended: %v", err)
	}
}

// isFromOutside reports whether the peer was exec'd into the sandbox: its parent is then outside of the process namespace. A tool that became a
// daemon has process 1 as its parent.
func isFromOutside(conn *net.UnixConn) bool {
	peer, err := connect.Peer(conn)
	if err != nil {
		return false
	}
	parent, err := proctree.ParentOf(int(peer))
	return err == nil && parent == 0 && peer != int32(unix.Getpid())
}
