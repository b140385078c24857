package links

import (
	"context"
	"sync"
)

// Overlay is the base's devices, until something changes here: the base is never changed.
type Overlay struct {
	base Devices
	mu   sync.Mutex
	own  *Memory // nil: nothing has changed
}

// NewOverlay gives devices over those of a base.
func NewOverlay(base Devices) *Overlay { return &Overlay{base: base} }

// HasChanged reports whether anything was changed here.
func (s *Overlay) HasChanged() bool { return s.current() != nil }

func (s *Overlay) current() *Memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own
}

// copyBase copies the base's devices before the first change.
func (s *Overlay) copyBase(ctx context.Context) (*Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		list, err := s.base.List(ctx)
		if err != nil {
			return nil, err
		}
		s.own = NewMemory(list...)
	}
	return s.own, nil
}

// List is Devices.List.
func (s *Overlay) List(ctx context.Context) ([]Link, error) {
	if here := s.current(); here != nil {
		return here.List(ctx)
	}
	return s.base.List(ctx)
}

// Add is Devices.Add, in memory.
func (s *Overlay) Add(ctx context.Context, l Link) error {
	here, err := s.copyBase(ctx)
	if err != nil {
		return err
	}
	return here.Add(ctx, l)
}

// Change is Devices.Change, in memory.
func (s *Overlay) Change(ctx context.Context, have, want Link) error {
	here, err := s.copyBase(ctx)
	if err != nil {
		return err
	}
	return here.Change(ctx, have, want)
}

// Delete is Devices.Delete, in memory.
func (s *Overlay) Delete(ctx context.Context, name string) error {
	here, err := s.copyBase(ctx)
	if err != nil {
		return err
	}
	return here.Delete(ctx, name)
}
