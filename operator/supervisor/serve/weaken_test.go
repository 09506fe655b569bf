//go:build weaken

package serve

import "testing"

func TestWithoutThePeerCheckAProcessInsideIsTakenForAnOperator(t *testing.T) {
	t.Setenv("TOOLCALL_WITHOUT", "peercheck")
	p := newPod(t)
	o := run(t, p.exec("sh", "-c", "SUPERVISOR connect; exit"))
	o.greet()
}
