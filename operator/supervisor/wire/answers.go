package wire

import "encoding/json"

// Version is the version of the protocol that this package speaks.
const Version = 1

// Codes of refusals.
const (
	ProtocolError    = "ProtocolError"
	BadKey           = "BadKey"
	VersionMismatch  = "VersionMismatch"
	BadField         = "BadRequest"
	StaleEpoch       = "StaleEpoch"
	UnknownCall      = "UnknownCall"
	AcknowledgedCall = "AcknowledgedCall"
	StillRunning     = "StillRunning"
	Unavailable      = "Unavailable"
)

// States of a call.
const (
	Running      = "Running"
	Exited       = "Exited"
	Acknowledged = "Acknowledged"
)

// Causes of an exit.
const (
	CauseExited           = "Exited"
	CauseSignaled         = "Signaled"
	CauseNotStarted       = "NotStarted"
	CauseDeadline         = "Deadline"
	CauseKilled           = "Killed"
	CauseTerminating      = "Terminating"
	CauseOutOfMemory      = "OutOfMemory"
	CauseTooManyProcesses = "TooManyProcesses"
	CauseLost             = "Lost"
)

// Steps at which no tool process came to be.
const (
	StepResolve = "Resolve"
	StepExec    = "Exec"
	StepFork    = "Fork"
	StepConfine = "Confine"
)

// Welcome is the supervisor's hello. Network is left out where nobody asked for it to be blocked.
type Welcome struct {
	Version     int    `json:"version"`
	BootID      string `json:"bootID"`
	Supervisor  string `json:"supervisor"`
	LandlockABI int    `json:"landlockABI"`
	Isolation   string `json:"isolation"`
	Network     string `json:"network,omitempty"`
}

// Started says that the channel shows its call.
type Started struct {
	Channel  uint32 `json:"channel"`
	Attached bool   `json:"attached"`
}

// Detached says that nothing more comes on the channel.
type Detached struct {
	Channel uint32 `json:"channel"`
}

// Killing answers kill.
type Killing struct {
	ID int64 `json:"id"`
}

// Acknowledgement answers acknowledge.
type Acknowledgement struct {
	ID int64 `json:"id"`
}

// Calls answers list.
type Calls struct {
	ID    int64    `json:"id"`
	Calls []Listed `json:"calls"`
}

// Listed is one call of a list.
type Listed struct {
	UID   string `json:"uid"`
	State string `json:"state"`
}

// Pong answers ping.
type Pong struct {
	ID int64 `json:"id"`
}

// Refused answers a request that is not carried out, or a breach of the protocol (then without channel and id).
type Refused struct {
	Channel uint32 `json:"channel,omitempty"`
	ID      int64  `json:"id,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Output is how much a tool wrote to a stream, and how much of it was kept.
type Output struct {
	Size   int64 `json:"size"`
	Stored int64 `json:"stored"`
}

// Exit is how a call ended. Fields that do not apply are nil.
type Exit struct {
	Channel    uint32  `json:"channel"`
	Cause      string  `json:"cause"`
	Code       *int    `json:"code"`
	Signal     *int    `json:"signal"`
	Error      *string `json:"error"`
	Step       *string `json:"step"`
	DurationMs int64   `json:"durationMs"`
	Stdout     Output  `json:"stdout"`
	Stderr     Output  `json:"stderr"`
}

// AppendAnswer appends the control frame of one of the supervisor's messages.
func AppendAnswer(to []byte, answer any) []byte {
	fields, err := json.Marshal(answer)
	if err != nil {
		panic("wire: " + err.Error()) // Every answer is made of numbers and strings.
	}
	body := append([]byte(`{"type":"`+kindOf(answer)+`",`), fields[1:]...)
	return AppendControl(to, body)
}

func kindOf(answer any) string {
	switch answer.(type) {
	case Welcome:
		return "hello"
	case Started:
		return "started"
	case Detached:
		return "detached"
	case Killing:
		return "killing"
	case Acknowledgement:
		return "acknowledged"
	case Calls:
		return "calls"
	case Pong:
		return "pong"
	case Refused:
		return "refused"
	case Exit:
		return "exit"
	}
	panic("wire: not an answer")
}
