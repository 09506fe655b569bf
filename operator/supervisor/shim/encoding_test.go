package shim

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"toolcall-operator/supervisor/internal/confine"
)

func TestASpecSurvivesItsEncoding(t *testing.T) {
	for name, spec := range map[string]Spec{
		"nothing": {
			Argv: []string{}, Env: []string{}, Path: []string{}, Box: confine.Box{Read: []string{}, Write: []string{}, Devices: []string{}},
			Distrusted: []string{},
		},
		"everything": {
			Argv: []string{"a", "", "line\nline", "\xff\xfe", strings.Repeat("x", 200000)},
			Env:  []string{"A=1", "B="},
			Path: []string{"/bin"},
			Box: confine.Box{
				Read: []string{"/usr"}, Write: []string{"/w", "/t"}, Devices: []string{"/dev/null"},
				BindsWrites: true, NoNetwork: true, RefuseUnixSockets: true,
			},
			Dir:         "/w/home",
			Trusted:     true,
			Distrusted:  []string{"/w", "/t"},
			Pids:        64,
			LandlockABI: 7,
		},
	} {
		got, err := decode(string(spec.Append(nil)[headSize:]))
		if err != nil || !reflect.DeepEqual(got, spec) {
			t.Errorf("%s: %v\n got %.200v\nwant %.200v", name, err, got, spec)
		}
	}
}

func TestABrokenSpecIsRefused(t *testing.T) {
	whole := string(Spec{Argv: []string{"a", "b"}, Pids: 1}.Append(nil)[headSize:])
	for _, broken := range []string{"", whole[:len(whole)/2], "x\x00" + whole, strings.Replace(whole, "2\x00a", "9\x00a", 1)} {
		if got, err := decode(broken); err == nil {
			t.Errorf("%q was read as %v", broken, got)
		}
	}
}

func TestAReportSurvivesItsEncoding(t *testing.T) {
	for _, report := range []Report{
		{},
		{Step: ExecStep, Errno: syscall.ENOENT},
		{Status: 3 << 8, Asked: true},
		{Status: 9, TooMany: true},
	} {
		if got, err := ReadReport(bytes.NewReader(report.Append(nil))); err != nil || got != report {
			t.Errorf("got %+v, %v, expected %+v", got, err, report)
		}
	}
}

func TestHalfAReportIsNoReport(t *testing.T) {
	half := Report{Status: 0}.Append(nil)[:reportSize-1]
	if _, err := ReadReport(bytes.NewReader(half)); err != io.ErrUnexpectedEOF {
		t.Errorf("got %v", err)
	}
	if _, err := ReadReport(bytes.NewReader(nil)); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestWithoutAScopeTheShimNeverSignalsTheWholeSession(t *testing.T) {
	// The test process lives in no scope: its parent is within reach.
	if _, walks := newKiller(confine.ABI()).(walking); !walks {
		t.Error("kill(-1) would end everything of this user")
	}
}

func TestBelowTheScopeABITheShimNeverSignalsTheWholeSession(t *testing.T) {
	if _, walks := newKiller(scopeABI - 1).(walking); !walks {
		t.Error("kill(-1) would end everything of this user")
	}
}
