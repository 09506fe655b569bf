package calls

import "time"

// retire counts an ended call out, and buries it when nobody comes for it.
func (r *Registry) retire(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part(c)
	if r.calls[c.uid] == c {
		c.expiry = time.AfterFunc(r.config.Retention, func() { r.expire(c) })
	}
}

// expire buries a call whose time is up, unless somebody is attached to it: it has the same time once more then.
func (r *Registry) expire(c *Call) {
	if !c.isWatched() {
		_ = r.Acknowledge(c.uid)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.uid] == c {
		c.expiry.Reset(r.config.Retention)
	}
}

// bury leaves the tombstone of a call, and nothing that holds the call itself.
func (r *Registry) bury(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, known := r.calls[uid]
	if !known {
		return
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
	delete(r.calls, uid)
	r.buried[uid] = struct{}{}
	r.tombstones = append(r.tombstones, uid)
}
