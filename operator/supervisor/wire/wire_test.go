package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// validStart is a start whose fields a test may change.
func validStart(change map[string]string) []byte {
	fields := map[string]string{
		"channel": "1", "uid": `"a"`, "argv": `["x"]`, "env": "{}", "stdinSize": "0", "timeoutMs": "1000", "graceMs": "0", "outputBytes": "10",
		"pids": "1", "stdoutOffset": "0", "stderrOffset": "0", "window": "1", "confine": "", "credentials": "",
	}
	var body strings.Builder
	body.WriteString(`{"type":"start"`)
	for name, value := range fields {
		if changed, there := change[name]; there {
			value = changed
		}
		if value != "" {
			fmt.Fprintf(&body, `,%q:%s`, name, value)
		}
	}
	body.WriteString("}")
	return []byte(body.String())
}

func TestAStartWithAWrongFieldIsABadRequestThatNamesTheField(t *testing.T) {
	for _, row := range []struct{ field, value string }{
		{"uid", `""`},
		{"uid", `"../etc"`},
		{"uid", `"-a"`},
		{"uid", `"a/b"`},
		{"uid", `"` + strings.Repeat("a", 129) + `"`},
		{"uid", `7`},
		{"argv", `[]`},
		{"argv", `[""]`},
		{"argv", `"x"`},
		{"argv", `[null]`},
		{"argv", `["x","a\u0000b"]`},
		{"env", `[]`},
		{"env", `{"":"1"}`},
		{"env", `{"A=B":"1"}`},
		{"env", `{"A":"\u0000"}`},
		{"env", `{"A":null}`},
		{"stdinSize", `-1`},
		{"stdinSize", `67108865`},
		{"timeoutMs", `0`},
		{"timeoutMs", `604800001`},
		{"timeoutMs", `1.5`},
		{"timeoutMs", `"1000"`},
		{"graceMs", `-1`},
		{"outputBytes", `67108865`},
		{"pids", `0`},
		{"stdoutOffset", `-1`},
		{"stderrOffset", `9007199254740992`},
		{"window", `16777217`},
		{"window", `null`},
		{"window", ``},
		{"env", ``},
		{"confine", `[]`},
		{"confine", `"None"`},
		{"confine.network", `{"network":"Some"}`},
		{"confine.network", `{"network":true}`},
		{"confine.network", `{"network":""}`},
		{"confine.program", `{"program":"trusted"}`},
		{"confine.writable", `{"writable":"/workspace"}`},
		{"confine.writable", `{"writable":{}}`},
		{"confine.writable[1]", `{"writable":["/workspace","out"]}`},
		{"confine.writable[0]", `{"writable":[""]}`},
		{"confine.writable[0]", `{"writable":[null]}`},
		{"confine.writable[0]", `{"writable":["/a\u0000b"]}`},
		{"confine.writable[0]", `{"writable":["/` + strings.Repeat("a", 4096) + `"]}`},
		{"confine.writable", `{"writable":[` + strings.Repeat(`"/a",`, 1024) + `"/a"]}`},
		{`confine."Network" is not known`, `{"Network":"None"}`},
		{`confine."readable" is not known`, `{"readable":[]}`},
		{"credentials", `[]`},
		{"credentials", `"hidden value"`},
		{"credentials.env", `{}`},
		{"credentials.env", `{"env":null}`},
		{"credentials.env", `{"env":{}}`},
		{"credentials.env", `{"env":["hidden value"]}`},
		{"credentials.env", `{"env":{"":"hidden value"}}`},
		{"credentials.env", `{"env":{"A=B":"hidden value"}}`},
		{`credentials.env "A"`, `{"env":{"A":"hidden value\u0000"}}`},
		{`credentials.env "A"`, `{"env":{"A":null}}`},
		{"credentials.redaction", `{"env":{"A":"hidden value"},"redaction":"On"}`},
		{"credentials.redaction", `{"env":{"A":"hidden value"},"redaction":false}`},
		{"credentials.workspace", `{"env":{"A":"hidden value"},"workspace":"Shared"}`},
		{"credentials.workspace", `{"env":{"A":"hidden value"},"workspace":""}`},
		{"credentials.workspace", `{"env":{"A":"hidden value"},"workspace":["None"]}`},
		{"credentials.exclusive", `{"env":{"A":"hidden value"},"exclusive":false}`},
		{"credentials.exclusive", `{"env":{"A":"hidden value"},"exclusive":"true"}`},
		{`credentials."Env" is not known`, `{"env":{"A":"hidden value"},"Env":{}}`},
	} {
		name, _, _ := strings.Cut(row.field, ".")
		_, err := Request(validStart(map[string]string{name: row.value}))
		var bad *BadRequest
		if !errors.As(err, &bad) || bad.Channel != 1 || !strings.Contains(bad.Message, row.field) || strings.Contains(bad.Message, "hidden") {
			t.Errorf("%s = %s: %v", row.field, row.value, err)
		}
	}
}

func TestAValidStartIsARequest(t *testing.T) {
	if got, err := Request(validStart(nil)); err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAConfinementIsReadAsItIsMeant(t *testing.T) {
	for _, row := range []struct {
		confine string
		want    Confinement
	}{
		{``, Confinement{}},
		{`null`, Confinement{}},
		{`{}`, Confinement{}},
		{`{"network":null,"writable":null,"program":null}`, Confinement{}},
		{`{"network":"None"}`, Confinement{NoNetwork: true}},
		{`{"program":"Trusted"}`, Confinement{TrustedProgram: true}},
		{`{"writable":[]}`, Confinement{BindsWrites: true}},
		{`{"writable":["/a/../b//c/","/"]}`, Confinement{BindsWrites: true, Writable: []string{"/b/c", "/"}}},
	} {
		got, err := Request(validStart(map[string]string{"confine": row.confine}))
		if err != nil || !reflect.DeepEqual(got.(Start).Confine, row.want) {
			t.Errorf("%s: %+v, %v", row.confine, got, err)
		}
	}
}

func TestCredentialsAreReadAsTheyAreMeantAndShowInNoText(t *testing.T) {
	for _, row := range []struct {
		credentials string
		want        *Credentials
	}{
		{``, nil},
		{`null`, nil},
		{`{"env":{"A":"hidden value"}}`, &Credentials{Env: map[string]string{"A": "hidden value"}, Redacted: true}},
		{
			`{"env":{"A":"hidden value","B":""},"redaction":"Off","workspace":"None","exclusive":true}`,
			&Credentials{Env: map[string]string{"A": "hidden value", "B": ""}, Workspace: WorkspaceNone, Exclusive: true},
		},
		{
			`{"env":{"A":"hidden value"},"redaction":null,"workspace":"ReadOnly","exclusive":null}`,
			&Credentials{Env: map[string]string{"A": "hidden value"}, Redacted: true, Workspace: WorkspaceReadOnly},
		},
	} {
		got, err := Request(validStart(map[string]string{"credentials": row.credentials}))
		if err != nil || !reflect.DeepEqual(got.(Start).Credentials, row.want) {
			t.Errorf("%s: got something else, %v", row.credentials, err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if text := fmt.Sprintf(verb, got); strings.Contains(text, "hidden") || strings.Contains(text, "68696464656e") {
				t.Errorf("%s shows %s", verb, text)
			}
		}
	}
}

func TestAVariableIsEitherACredentialOrNot(t *testing.T) {
	_, err := Request(validStart(map[string]string{"env": `{"A":"","B":""}`, "credentials": `{"env":{"B":"hidden value"}}`}))
	var bad *BadRequest
	if !errors.As(err, &bad) || !strings.Contains(bad.Message, `credentials.env "B"`) || strings.Contains(bad.Message, "hidden") {
		t.Errorf("got %v", err)
	}
}

func TestARefusalRepeatsTheIDOfItsRequest(t *testing.T) {
	_, err := Request([]byte(`{"type":"kill","id":9,"uid":""}`))
	var bad *BadRequest
	if !errors.As(err, &bad) || bad.ID != 9 || bad.Channel != 0 {
		t.Errorf("got %#v", err)
	}
}

func TestAnUnknownFieldBreaksTheProtocolEvenBesideAWrongOne(t *testing.T) {
	_, err := Request([]byte(`{"type":"kill","id":9,"uid":"","force":true}`))
	var v *Violation
	if !errors.As(err, &v) {
		t.Errorf("got %v", err)
	}
}

func TestTheLongestPayloadIsReadAndOneByteMoreIsNot(t *testing.T) {
	longest := AppendData(nil, 1, Stdout, 0, make([]byte, MaxPayload))
	if frame, err := NewReader(bytes.NewReader(longest)).Next(); err != nil || len(frame.Payload) != MaxPayload {
		t.Errorf("the longest: %d bytes, %v", len(frame.Payload), err)
	}
	longer := AppendData(nil, 1, Stdout, 0, make([]byte, MaxPayload+1))
	if _, err := NewReader(bytes.NewReader(longer)).Next(); err == nil {
		t.Error("one byte more was read")
	}
}

func TestBeforeItsHelloAPeerGetsLittleRoom(t *testing.T) {
	frame := AppendControl(nil, make([]byte, MaxHello+1))
	if _, err := NewReader(bytes.NewReader(frame)).Next(); err == nil {
		t.Error("a large first frame was read")
	}
	admitted := NewReader(bytes.NewReader(frame))
	admitted.Admit()
	if _, err := admitted.Next(); err != nil {
		t.Errorf("after the hello: %v", err)
	}
}

func TestAFrameThatPromisesTooMuchIsRefusedBeforeItsBodyIsWaitedFor(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, MaxControl+2)
	reader := NewReader(io.MultiReader(bytes.NewReader(append(head, byte(Control))), neverReader{t}))
	reader.Admit()
	var v *Violation
	if _, err := reader.Next(); !errors.As(err, &v) {
		t.Errorf("got %v", err)
	}
}

type neverReader struct{ t *testing.T }

func (n neverReader) Read([]byte) (int, error) {
	n.t.Error("the body was read")
	return 0, io.EOF
}

func FuzzNoByteStreamDoesMoreThanBreakTheProtocol(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x03\x01{}"))
	f.Add(AppendControl(nil, []byte(`{"type":"ping","id":1}`)))
	f.Add(AppendData(nil, 1, Stdin, 0, []byte("x")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		reader := NewReader(bytes.NewReader(stream))
		for {
			frame, err := reader.Next()
			if err != nil {
				return
			}
			if frame.Kind == Control {
				_, _ = Request(frame.Body)
			}
		}
	})
}
