package threads

// Gate lets so many goroutines at once do what may hold up the thread they run on. Whoever waits for it holds none.
type Gate chan struct{}

// NewGate is a gate for so many at once.
func NewGate(most int) Gate { return make(Gate, most) }

// Enter waits for a place.
func (g Gate) Enter() { g <- struct{}{} }

// Leave gives the place to another.
func (g Gate) Leave() { <-g }
