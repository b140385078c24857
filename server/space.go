package server

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	minFree       = 0.1 // the share of the room below which nothing begins
	spaceEvery    = 2 * time.Second
	spacePatience = 10 * time.Second
	spaceAgain    = time.Minute // between two reports of the same failure
)

// space is how much room there was when somebody looked last.
type space struct {
	mu     sync.Mutex
	looked time.Time
	share  float64
	known  bool
	err    error
	told   time.Time
}

// isFull tells whether so little room is left that nothing may begin. Room that cannot be looked at is none, and that is told: what is taken in then might not
// be kept.
func (s *Server) isFull() bool {
	share, known, err := s.freeSpace()
	return err != nil || known && share < minFree
}

// freeSpace tells which share of the room of the store is free: of its volume or, where it is a database elsewhere, of what the operator has said that it may
// take. Where nobody has said that, it is not known.
func (s *Server) freeSpace() (share float64, known bool, err error) {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	now := time.Now()
	if passed := now.Sub(s.space.looked); passed >= 0 && passed < spaceEvery {
		return s.space.share, s.space.known, s.space.err
	}
	share, known, err = s.lookAtSpace()
	if err != nil && now.Sub(s.space.told) >= spaceAgain {
		s.space.told = now
		s.Failed(fmt.Errorf("how much room the store has cannot be seen, so nothing is taken in from hosts, and no deployment begins: %w", err))
	}
	s.space.share, s.space.known, s.space.err, s.space.looked = share, known, err, now
	return share, known, err
}

func (s *Server) lookAtSpace() (share float64, known bool, err error) {
	if s.StoreLimit <= 0 {
		return s.Store.FreeSpace()
	}
	ctx, cancel := context.WithTimeout(context.Background(), spacePatience)
	defer cancel()
	size, known, err := s.Store.Size(ctx)
	if err != nil || !known {
		return 0, false, err
	}
	return max(0, 1-float64(size)/float64(s.StoreLimit)), true, nil
}
