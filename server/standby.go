package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/fault"
)

// Times of a server that stands by.
const (
	viewAge      = 5 * time.Second  // how old may be what it shows of hosts
	viewPatience = 20 * time.Second // how long it may take to read that
	viewBroken   = 10 * time.Second // between two tries to begin
)

// standBy says that the server stands by, and serves reading until the context ends, if it is to.
func (s *Server) standBy(ctx context.Context) {
	s.Failed(errors.New("another server is the active one: this one stands by"))
	if s.Standby == "" {
		return
	}
	reported := ""
	for ctx.Err() == nil {
		// The keys may have to be brought first, the active server has to have begun, and the database may be away.
		err := s.serveViews(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if err.Error() != reported {
			reported = err.Error()
			s.Failed(fmt.Errorf("standby: %w", err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(viewBroken):
		}
	}
}

// serveViews serves what the active server keeps, until the context ends.
func (s *Server) serveViews(ctx context.Context) error {
	v, err := s.newView(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.Standby)
	if err != nil {
		return &diag.HintError{Err: err, Hint: "--standby-listen HOST:PORT"}
	}
	s.Failed(fmt.Errorf("standby: reading is served at https://%s", listener.Addr()))
	web := newWeb(ctx, v, v.Authority.TLS())
	ended := make(chan error, 1)
	fault.Go(func() { ended <- web.ServeTLS(listener, "", "") })
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		// What only reads may end in the midst: the active server gives it, too.
		return web.Close()
	}
}

// view is what a server that stands by shows: all that the active one has kept, read anew when somebody asks for it.
type view struct {
	*Server
	mu     sync.Mutex
	read   time.Time
	broken string // why it could not be read last, as it was said
}

// newView makes one.
func (s *Server) newView(ctx context.Context) (*view, error) {
	v := &view{Server: &Server{Config: s.Config, Store: s.Store, Contents: s.Contents, url: "https://" + net.JoinHostPort(s.name(), port(s.Standby)), isStandby: true}, read: time.Now()}
	for _, step := range []func(context.Context) error{v.openAuthority, v.openHosts, v.openSessions, v.openDeployments, v.openAPI} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// ServeHTTP serves reading.
func (v *view) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !v.refresh() {
		http.Error(w, "the database cannot be read now", http.StatusServiceUnavailable)
		return
	}
	v.pages.ServeHTTP(w, r)
}

// refresh reads what is too old, for all who wait for it: none of them ends that. Why it cannot be read is said once.
func (v *view) refresh() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if now.Sub(v.read) < viewAge {
		return v.broken == ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), viewPatience)
	defer cancel()
	said := ""
	for _, part := range []func(context.Context) error{v.Authority.Refresh, v.Hosts.Refresh, v.Sessions.Refresh} {
		if err := part(ctx); err != nil {
			said = err.Error()
			break
		}
	}
	if said != "" && said != v.broken {
		v.Failed(fmt.Errorf("standby: %s", said))
	}
	v.read, v.broken = now, said
	return said == ""
}
