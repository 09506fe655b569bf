package confine

// Scope is the outer layer of a call: whoever enters it signals, and connects to abstract sockets of, only processes inside.
// It is what makes kill(-1) from within reach exactly the processes of one call.
type Scope struct {
	rules ruleset
}

// NewScope prepares the layer once; below Landlock ABI 6 it has nothing to take away.
func NewScope() (*Scope, error) {
	rules, err := newRuleset(0, scopes(ABI()))
	if err != nil {
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
