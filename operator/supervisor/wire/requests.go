package wire

import (
	"encoding/json"
	"time"
)

// Hello opens a connection; it comes first.
type Hello struct {
	Versions []int
	Key      []byte
	Epoch    int64
	Client   string
}

// View is from where, and how far ahead of its credit, the output of a call is wanted.
type View struct {
	StdoutOffset int64
	StderrOffset int64
	Window       int64
}

// Start asks for a call, or for its output when it was started before.
type Start struct {
	Channel     uint32
	UID         string
	Argv        []string
	Env         map[string]string
	StdinSize   int64
	Timeout     time.Duration
	Grace       time.Duration
	OutputBytes int64
	Pids        int
	Confine     Confinement
	Credentials *Credentials // nil for none
	View        View
}

// Attach asks for the output of a call that is known.
type Attach struct {
	Channel uint32
	UID     string
	View    View
}

// Detach ends a channel, and nothing else.
type Detach struct{ Channel uint32 }

// Credit lets so many more bytes of output be sent on a channel.
type Credit struct {
	Channel uint32
	Bytes   int64
}

// Kill ends a call.
type Kill struct {
	ID  int64
	UID string
}

// Acknowledge lets an exited call be forgotten, but for its tombstone.
type Acknowledge struct {
	ID  int64
	UID string
}

// List asks which calls are known.
type List struct{ ID int64 }

// Ping asks for a pong.
type Ping struct{ ID int64 }

// BadRequest is a request with a wrong field. It is answered, and the connection goes on.
type BadRequest struct {
	Channel uint32 // 0 when the request carries an ID
	ID      int64  // 0 when it carries a channel
	Message string
}

func (b *BadRequest) Error() string { return b.Message }

var requests = map[string]func(*fields) any{
	"hello": func(f *fields) any {
		return Hello{f.versions(), f.key(), f.number("epoch", 0, maxNumber), f.text("client", maxClient)}
	},
	"start":       func(f *fields) any { return start(f) },
	"attach":      func(f *fields) any { return Attach{f.channel(), f.uid(), view(f)} },
	"detach":      func(f *fields) any { return Detach{f.channel()} },
	"credit":      func(f *fields) any { return Credit{f.channel(), f.number("bytes", 1, maxNumber)} },
	"kill":        func(f *fields) any { return Kill{f.id(), f.uid()} },
	"acknowledge": func(f *fields) any { return Acknowledge{f.id(), f.uid()} },
	"list":        func(f *fields) any { return List{f.id()} },
	"ping":        func(f *fields) any { return Ping{f.id()} },
}

func start(f *fields) Start {
	env := f.env()
	return Start{
		Channel:     f.channel(),
		UID:         f.uid(),
		Argv:        f.argv(),
		Env:         env,
		StdinSize:   f.number("stdinSize", 0, MaxStdin),
		Timeout:     time.Duration(f.number("timeoutMs", 1, maxMillis)) * time.Millisecond,
		Grace:       time.Duration(f.number("graceMs", 0, maxMillis)) * time.Millisecond,
		OutputBytes: f.number("outputBytes", 0, MaxOutput),
		Pids:        int(f.number("pids", 1, maxPids)),
		Confine:     f.confinement(),
		Credentials: f.credentials(env),
		View:        view(f),
	}
}

func view(f *fields) View {
	return View{f.offset("stdoutOffset"), f.offset("stderrOffset"), f.number("window", 0, MaxWindow)}
}

// Request is the message of a control frame from an operator: a value of one of the types above. A wrong field gives *BadRequest, and
// anything that is not a message of the protocol *Violation.
func Request(body []byte) (any, error) {
	f, kind, err := object(body)
	if err != nil {
		return nil, err
	}
	decode, known := requests[kind]
	if !known {
		return nil, violation("a message of an unknown type")
	}
	channel, id := address(f.raw)
	request := decode(f)
	if name, there := f.unknown(); there {
		return nil, violation("%s has an unknown field %.64q", kind, name)
	}
	if f.objection == "" {
		return request, nil
	}
	if channel == 0 && id == 0 {
		return nil, violation("%s: %s", kind, f.objection)
	}
	return nil, &BadRequest{channel, id, kind + ": " + f.objection}
}

func object(body []byte) (*fields, string, error) {
	f := &fields{}
	if err := json.Unmarshal(body, &f.raw); err != nil || f.raw == nil {
		return nil, "", violation("a control frame that is not a JSON object")
	}
	var kind string
	if raw, there := f.raw["type"]; !there || json.Unmarshal(raw, &kind) != nil {
		return nil, "", violation("a message without a type")
	}
	delete(f.raw, "type")
	return f, kind, nil
}

// address is what a refusal of the request repeats; both are 0 when the request names neither.
func address(raw map[string]json.RawMessage) (uint32, int64) {
	f := &fields{raw: map[string]json.RawMessage{"channel": raw["channel"], "id": raw["id"]}}
	channel, id := f.channel(), f.id()
	return channel, id
}
