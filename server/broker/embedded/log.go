package embedded

import (
	"errors"
	"fmt"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
)

// logger hands on what nats-server logs as errors. Nothing is written anywhere.
type logger struct {
	report func(error)

	mu    sync.Mutex
	fatal error
}

// text is what may be shown: names that agents give themselves stand in it.
func text(format string, values []any) error {
	return errors.New("broker: " + diag.Clean(diag.Shorten(fmt.Sprintf(format, values...)), "", '�'))
}

// Errorf is server.Logger's.
func (l *logger) Errorf(format string, values ...any) { l.report(text(format, values)) }

// Fatalf is server.Logger's: what keeps the broker from working. Nothing ends by it.
func (l *logger) Fatalf(format string, values ...any) {
	err := text(format, values)
	l.mu.Lock()
	l.fatal = errors.Join(l.fatal, err)
	l.mu.Unlock()
	l.report(err)
}

func (l *logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// Noticef is server.Logger's.
func (l *logger) Noticef(string, ...any) {}

// Warnf is server.Logger's.
func (l *logger) Warnf(string, ...any) {}

// Debugf is server.Logger's.
func (l *logger) Debugf(string, ...any) {}

// Tracef is server.Logger's.
func (l *logger) Tracef(string, ...any) {}
