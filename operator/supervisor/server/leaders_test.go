package server

import (
	"errors"
	"testing"
	"time"
)

func TestANewLeaderIsWelcomedWhenNothingOfAnOlderOneIsUnderWay(t *testing.T) {
	var l leaders
	l.welcome(1)
	welcomed := make(chan struct{})
	err := l.as(1, func() error {
		go func() { l.welcome(2); close(welcomed) }()
		select {
		case <-welcomed:
			t.Error("it was welcomed while a start of the older one was entered")
		case <-time.After(50 * time.Millisecond):
		}
		return nil
	})
	<-welcomed
	var older *olderLeader
	if refusal := l.as(1, func() error { t.Error("it was done"); return nil }); err != nil || !errors.As(refusal, &older) {
		t.Errorf("%v, then %v", err, refusal)
	}
}

func TestAnOlderLeaderThatComesLaterChangesNothing(t *testing.T) {
	var l leaders
	l.welcome(5)
	l.welcome(4)
	if err := l.as(5, func() error { return nil }); err != nil {
		t.Error(err)
	}
}
