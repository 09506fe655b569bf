package confine

import "golang.org/x/sys/unix"

// Scope is the outer layer of a call: whoever enters it signals, and connects to abstract sockets of, only processes inside.
// It is what makes kill(-1) from within reach exactly the processes of one call.
type Scope struct {
	rules ruleset
}

// NewScope prepares the layer once; below Landlock ABI 6 it has nothing to take away.
//
// A layer refuses every rename and link between folders (EXDEV) unless it grants REFER, even one that handles no files: seen on 6.18, where `git push`
// to a local repository failed under a layer of scopes alone. So this one handles REFER, and grants it everywhere; which files may be linked where is
// the Box's to say.
func NewScope() (*Scope, error) {
	scoped := scopes(ABI())
	if scoped == 0 {
		return &Scope{rules: ruleset{fd: -1}}, nil
	}
	rules, err := newRuleset(unix.LANDLOCK_ACCESS_FS_REFER, scoped)
	if err != nil {
		return nil, err
	}
	if err := rules.allow("/", unix.LANDLOCK_ACCESS_FS_REFER, following); err != nil {
		rules.close()
		return nil, err
	}
	return &Scope{rules: rules}, nil
}

// Enter sets no_new_privs on the calling thread and puts it into a domain of its own: two that enter the same Scope cannot reach each other.
// The thread must be locked to its goroutine, and ends with it: nothing leaves a domain.
func (s *Scope) Enter() error {
	if err := noNewPrivileges(); err != nil {
		return err
	}
	return s.rules.enter()
}
