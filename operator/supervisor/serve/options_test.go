package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolcall-operator/supervisor/internal/usage"
)

const anyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestAMistakeOnTheCommandLineIsTheCallersAndNamesTheFlag(t *testing.T) {
	for _, row := range []struct {
		args string
		flag string
	}{
		{"", "--key-sha256"},
		{"--key-sha256 abc", "--key-sha256"},
		{"--key-sha256 " + anyHash[2:], "--key-sha256"},
		{"--key-sha256 " + anyHash + " --memory -1", "--memory"},
		{"--key-sha256 " + anyHash + " --memory much", "-memory"},
		{"--key-sha256 " + anyHash + " --retention 0s", "--retention"},
		{"--key-sha256 " + anyHash + " --tasks -1", "--tasks"},
		{"--key-sha256 " + anyHash + " --tasks 127", "--tasks"},
		{"--key-sha256 " + anyHash + " --spool-bytes -1", "--spool-bytes"},
		{"--key-sha256 " + anyHash + " --blocked kubernetes.default:443", "-blocked: must be IP:PORT"},
		{"--key-sha256 " + anyHash + " --blocked 10.0.0.1", "-blocked: must be IP:PORT"},
		{"--key-sha256 " + anyHash + " --blocked 10.0.0.1:0", "-blocked: must be IP:PORT"},
		{"--key-sha256 " + anyHash + " --blocked 10.0.0.1:https", "-blocked: must be IP:PORT"},
		{"--key-sha256 " + anyHash + " --blocked-patience 0.5s", "--blocked-patience"},
		{"--key-sha256 " + anyHash + " --blocked-patience 31s", "--blocked-patience"},
		{"--key-sha256 " + anyHash + " --workspace=", "--workspace"},
		{"--key-sha256 " + anyHash + " --writable=", "--writable"},
		{"--key-sha256 " + anyHash + " --writable /", "--writable /"},
		{"--key-sha256 " + anyHash + " --writable /work", "--writable /work"},
		{"--key-sha256 " + anyHash + " --writable /work/in/a", "--writable /work/in/a"},
		{"--key-sha256 " + anyHash + " --writable ../../../../../../../work", "--writable /work"},
		{"--key-sha256 " + anyHash + " --writable /run", "--writable /run"},
		{"--key-sha256 " + anyHash + " --tmp /run/toolcall", "--tmp"},
		{"--key-sha256 " + anyHash + " --home /run/toolcall/x", "--home"},
		{"--key-sha256 " + anyHash + " --workspace /work", "--workspace"},
		{"--key-sha256 " + anyHash + " --spool /work/out/spool", "--spool"},
		{"--key-sha256 " + anyHash + " --writable /work/private", "--writable /work/private"},
		{"--key-sha256 " + anyHash + " --tmp /work/private/x", "--tmp"},
		{"--key-sha256 " + anyHash + " --isolation Landlock", "--isolation"},
		{"--key-sha256 " + anyHash + " --isolation exclusive", "--isolation"},
		{"--key-sha256 " + anyHash + " --colour red", "-colour"},
		{"--key-sha256 " + anyHash + " extra", "extra"},
	} {
		_, err := parse(strings.Fields(row.args))
		var wrong *usage.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), row.flag) {
			t.Errorf("%q: %v", row.args, err)
		}
	}
}

func TestAWritableFolderIsJudgedByWhereItLeads(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/real", 0o700), os.Symlink("real", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	for args, refused := range map[string]bool{
		"--spool DIR/real/spool --writable DIR/link":       true,
		"--spool DIR/link/spool --writable DIR/real":       true,
		"--work DIR/link/work --writable DIR/real/work":    true,
		"--spool DIR/real/spool --writable DIR/link/other": false,
		"--spool DIR/real/spool --writable DIR/real/spoo":  false,
	} {
		_, err := parse(strings.Fields("--key-sha256 " + anyHash + " --tmp " + dir + "/tmp " + strings.ReplaceAll(args, "DIR", dir)))
		var wrong *usage.Error
		if errors.As(err, &wrong) != refused {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestFoldersAreMadeAbsoluteAndHomeIsTheTemporaryFolderWhenUnset(t *testing.T) {
	o, err := parse(strings.Fields("--key-sha256 " + anyHash + " --workspace a --tmp b --writable c --writable /d --hide e --retention 5s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range append([]string{o.workspace, o.work, o.tmp, o.home, o.spool}, append(o.writable, o.hide...)...) {
		if !filepath.IsAbs(folder) {
			t.Errorf("%q is relative", folder)
		}
	}
	if o.home != o.tmp || o.writable[1] != "/d" || o.retention != 5*time.Second {
		t.Errorf("%+v", o)
	}
}

func TestAddressesAddUpAndHaveTheirPatience(t *testing.T) {
	o, err := parse(strings.Fields("--key-sha256 " + anyHash + " --blocked 10.96.0.1:443 --blocked [fd00::1]:80"))
	if err != nil || fmt.Sprint(o.blocked) != "[10.96.0.1:443 [fd00::1]:80]" || o.patience != 20*time.Second {
		t.Errorf("%v, %s, %v", o.blocked, o.patience, err)
	}
}

func TestTheBoxHoldsTheOutFolderAndNeverTheInputsOrTheSpool(t *testing.T) {
	o, err := parse(strings.Fields("--key-sha256 " + anyHash + " --workspace /w --work /srv/x --spool /opt/y --writable /extra"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := box(o)
	written := strings.Join(b.Write, " ")
	for _, folder := range []string{"/w", "/srv/x/out", "/tmp", "/extra"} {
		if !strings.Contains(written, folder) {
			t.Errorf("%s is not writable", folder)
		}
	}
	for _, folder := range b.Read {
		if folder == "/srv" || folder == "/opt" {
			t.Errorf("%s is readable", folder)
		}
	}
}
