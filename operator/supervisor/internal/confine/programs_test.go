package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a shell script, and what it needs on the machine.
type program struct{ needs, name, script string }

// programs are what tools do all day: each line is a shell script, run in an empty writable folder that is its HOME and TMPDIR as well.
var programs = []program{
	{"git", "git init, commit, clone, push to a local repository", `
		git config --global user.name T && git config --global user.email t@example.com && git config --global init.defaultBranch main
		git init -q --bare origin.git && git clone -q origin.git work 2>/dev/null && cd work
		echo one > file && git add file && git commit -qm one && git push -q origin HEAD:main && git mv file other && git commit -qm two && git push -q origin HEAD:main
		git gc -q && git -C ../origin.git log --oneline main | wc -l | grep -q 2`},
	{"python3", "python with a subprocess, a temporary file, a thread and a lock", `
		/usr/bin/python3 -c 'import subprocess, tempfile, threading, multiprocessing.pool, os, sqlite3
with tempfile.NamedTemporaryFile("w") as f: f.write("x"); f.flush(); assert subprocess.check_output(["cat", f.name]) == b"x"
t = threading.Thread(target=print, args=("thread",)); t.start(); t.join()
multiprocessing.pool.ThreadPool(2).map(abs, [1, 2])
c = sqlite3.connect("db"); c.execute("create table t (x)"); c.commit()
import resource, signal; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); os.nice(1)'`},
	{"python3", "python multiprocessing with semaphores in /dev/shm", `
		/usr/bin/python3 -c 'import multiprocessing as m
if __name__ == "__main__":
    q = m.Queue(); p = m.Process(target=q.put, args=(7,)); p.start(); assert q.get() == 7; p.join()'`},
	{"perl", "perl", `perl -e 'open(F, ">", "f") or die; print F "x"; close F; rename("f", "g") or die; print -s "g"' | grep -q 1`},
	{"tar", "tar with compression, out and in", `mkdir d && echo x > d/f && chmod 640 d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f`},
	{"make", "make with parallel jobs", `printf 'all: a b\na b:\n\techo $@ > $@\n' > Makefile && make -j2 -s && cat a b`},
	{"gcc", "gcc, and what it built", `printf 'int main(void){return 0;}' > m.c && gcc -pipe m.c -o m && ./m && gcc m.c -o n && ./n`},
	{"gdb", "gdb on a program of its own", `gdb -q -batch -ex 'break *0' -ex 'info program' /bin/true >/dev/null && gdb -q -batch -ex starti -ex 'info registers' -ex kill /bin/true | grep -q rip || gdb -q -batch -ex starti -ex 'info registers' -ex kill /bin/true | grep -q pc`},
	{"strace", "strace on a program of its own", `strace -f -o trace /bin/true && grep -q execve trace`},
	{"grep", "grep, find and sed", `mkdir -p a/b && echo hello > a/b/f && find a -name f -exec sed -i s/hello/world/ {} + && grep -rq world a && find a -newer / -type f -delete && [ ! -e a/b/f ]`},
	{"sort", "sort with temporary files", `seq 200000 | sort -R -S 1M -T . | sort -n -S 1M | tail -1 | grep -q 200000`},
	{"sh", "shell pipelines, here documents, background jobs, named pipes", `mkfifo p; (echo in > p &) ; cat < p | tr a-z A-Z | grep -q IN; cat <<-X | wc -c | grep -q 3; wait; echo > /dev/null; : > /dev/null; head -c9 /dev/urandom | wc -c | grep -q 9
		ab
	X`},
	{"bash", "process substitution and ulimit", `bash -c 'ulimit -n 100; ulimit -c 0; diff <(echo a) <(echo a)'`},
	{"nice", "nice, chrt and ionice on oneself", `nice -n 5 true && ionice -c3 true && chrt -b 0 true`},
	{"taskset", "taskset of a command", `taskset 1 sh -c 'grep -q "Cpus_allowed_list:.0$" /proc/self/status'`},
	{"cp", "cp, mv and ln between folders", `mkdir x y && echo 1 > x/f && cp -a x/f y/g && mv x/f y/f && ln y/f x/h && ln -s ../y/g x/s && cat x/s x/h && rm -r x y`},
	{"timeout", "timeout and kill of children", `timeout -s KILL 0.2 sleep 9 || [ $? = 137 ]; sleep 9 & kill $!; wait $! || true`},
	{"openssl", "openssl", `openssl rand -hex 8 | wc -c | grep -q 17 && openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out c -subj /CN=x -days 1 2>/dev/null && openssl x509 -in c -noout`},
	{"awk", "awk with system and getline", `awk 'BEGIN { system("echo s"); "echo g" | getline x; exit x != "g" }'`},
	{"xargs", "xargs with parallel jobs", `seq 20 | xargs -P4 -n1 echo | wc -l | grep -q 20`},
	{"curl", "curl of a local file", `echo x > f && curl -fsS "file://$PWD/f" | grep -q x`},
}

func TestOrdinaryProgramsGoOnWorking(t *testing.T) {
	run(t, programs, func(box Box, _ []Root) Box { return box })
}

// TestOrdinaryProgramsWorkAsWellWithoutNetworkWhereTheyMayWriteAllTheyNeed: most of what a program does needs neither.
func TestOrdinaryProgramsWorkAsWellWithoutNetworkWhereTheyMayWriteAllTheyNeed(t *testing.T) {
	run(t, programs, func(box Box, roots []Root) Box {
		box.NoNetwork = true
		return box.Bind(roots, Paths(roots))
	})
}

// connected are programs that use a network, as they do on any machine.
var connected = []program{
	{"python3", "python, a server and a client of HTTP", `/usr/bin/python3 -c '` + server + `
assert u.urlopen(at).status == 200'`},
	{"curl", "curl, also with Fast Open", `/usr/bin/python3 -c '` + server + `
import subprocess
for more in [], ["--tcp-fastopen"]: subprocess.check_call(["curl", "-fsS", "-o", "/dev/null", *more, at])'`},
	{"getent", "names that need no server", `getent hosts localhost`},
	{"ip", "addresses and routes", `ip address | grep -q 127.0.0.1`},
	{"git", "git from a server of HTTP", `git init -q r && git -C r -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m one && git -C r update-server-info && cd r/.git && /usr/bin/python3 -c '` + server + `
import subprocess
subprocess.check_call(["git", "ls-remote", "-q", at])'`},
}

// server is the beginning of a program of python: the files of its folder by HTTP, at an address of this machine.
const server = `import http.server as h, threading as t, urllib.request as u
h.SimpleHTTPRequestHandler.log_message = lambda *_: None
s = h.ThreadingHTTPServer(("127.0.0.1", 0), h.SimpleHTTPRequestHandler); t.Thread(target=s.serve_forever, daemon=True).start()
at = "http://127.0.0.1:%d/" % s.server_port`

func TestProgramsThatUseANetworkGoOnWorking(t *testing.T) {
	run(t, connected, func(box Box, _ []Root) Box { return box })
}

func TestWithoutNetworkAProgramSaysSoAtOnce(t *testing.T) {
	run(t, []program{
		{"curl", "curl", `timeout 5 curl -sS http://127.0.0.1:9/ && exit 1 || [ $? = 7 ]`},
		{"wget", "wget", `timeout 5 wget http://127.0.0.1:9/ 2>&1 | grep -q 'Network is unreachable'`},
		{"ssh", "ssh", `timeout 5 ssh -o BatchMode=yes 127.0.0.1 2>&1 | grep -q 'Network is unreachable'`},
		{"python3", "python", `timeout 5 /usr/bin/python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:9/")' 2>&1 | grep -q 'Network is unreachable'`},
		{"getent", "names that need no server", `getent hosts localhost`},
	}, func(box Box, _ []Root) Box {
		box.NoNetwork = true
		return box
	})
}

// run runs the programs that this machine has, at least half of them, in a box of its own each.
func run(t *testing.T, programs []program, confined func(Box, []Root) Box) {
	t.Helper()
	needLandlock(t)
	missing := 0
	for _, p := range programs {
		if _, err := exec.LookPath(p.needs); err != nil {
			t.Logf("not run, because this machine has no %s: %s", p.needs, p.name)
			missing++
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			home := folder(t, place, strings.Map(letter, t.Name()))
			t.Cleanup(func() { _ = os.RemoveAll(home) })
			box := confined(boxOf(home, home), Roots([]string{home, sharedMemory}))
			command := as(roleTool, "", box, "/bin/sh", "-ec", p.script)
			command.Dir = home
			command.Env = append(command.Env, "HOME="+home, "TMPDIR="+home, "LC_ALL=C")
			if code, said := answer(t, command); code != 0 {
				t.Errorf("exit code %d: %s", code, said)
			}
		})
	}
	if missing > len(programs)/2 {
		t.Errorf("only %d of the programs are on this machine: too few to say anything", len(programs)-missing)
	}
}

func letter(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r
	}
	return '-'
}

func TestACallTracesItsOwnChildrenAndSetsItsOwnLimits(t *testing.T) {
	needLandlock(t)
	s := stage(t)
	for _, args := range [][]string{{"own-trace"}, {"own-limits"}, {"rename-across", s.out}} {
		command := as(roleTool, "", boxOf(s.out, s.own), append([]string{filepath.Join(place, "tool")}, args...)...)
		if code, said := answer(t, command); code != succeededCode {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
}

func TestUnixSocketsWorkUnlessRefusedAndPairsAlways(t *testing.T) {
	needLandlock(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this machine has no python3")
	}
	s := stage(t)
	const pair, named = `import socket; socket.socketpair()`, `import socket; socket.socket(socket.AF_UNIX).bind("named")`
	for _, row := range []struct {
		refuse bool
		script string
		works  bool
	}{{false, pair, true}, {false, named, true}, {true, pair, true}, {true, named, false}} {
		box := boxOf(s.out, s.own)
		box.RefuseUnixSockets = row.refuse
		command := as(roleTool, "", box, "/usr/bin/python3", "-c", row.script)
		command.Dir = s.out
		code, said := answer(t, command)
		if (code == 0) != row.works || !row.works && !strings.Contains(said, "Operation not permitted") {
			t.Errorf("refused %v, %s: exit code %d: %s", row.refuse, row.script, code, said)
		}
	}
}
