package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/server/access"
)

// The names of events that the stream itself has.
const (
	eventReady  = "ready"  // the stream begins; its id is where it can be taken up
	eventReload = "reload" // events are lost: load anew whatever is shown
)

// heartbeat is how often a stream says that it is alive, and looks whether its reader still may read.
const heartbeat = 20 * time.Second

func (a *API) registerEvents() {
	params := []*huma.Param{{Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the last event that was received: the stream goes on after it."}}
	a.registerRaw(Operation{ID: "events", Method: http.MethodGet, Path: "/v1/events", Tag: "events", Scope: Somewhere, Verb: access.Read, Limit: -1,
		Summary:     "Stream what happens, as server-sent events.",
		Description: "Each event has a type, a time and JSON, as far as the caller may see it. The first one is \"ready\". An event \"reload\" says that some were lost: load anew what is shown.",
		Codes:       []string{access.CodeForbidden, access.CodeUnknown}}, "text/event-stream", params, a.serveEvents)
}

func (a *API) serveEvents(w http.ResponseWriter, r *http.Request) {
	s := &stream{api: a, w: w, control: http.NewResponseController(w), caller: callerOf(r.Context())}
	person := access.PersonOf(s.caller.Name) // whose programs count as they do
	if !a.o.Feed.join(person) {
		p := newProblem(access.CodeTooMany, "you read too many streams of events already", "end some of them")
		p.RetryAfter = int(heartbeat.Seconds())
		p.write(w)
		return
	}
	defer a.o.Feed.leave(person)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	// What ends a stream is its reader going away, whose fault it is of no use to tell; or a server that stops.
	_ = s.run(r.Context(), r.Header.Get("Last-Event-ID"))
}

// stream is one reader's.
type stream struct {
	api     *API
	w       http.ResponseWriter
	control *http.ResponseController
	caller  *access.Caller
}

func (s *stream) run(ctx context.Context, lastID string) error {
	feed := s.api.o.Feed
	n, known := feed.position(lastID)
	if !known {
		n = feed.newest()
	}
	begin := eventReady
	if lastID != "" && !known {
		begin = eventReload
	}
	if err := s.send(feed.id(n), begin, []byte("{}")); err != nil {
		return err
	}
	ticker := time.NewTicker(s.api.heartbeat)
	defer ticker.Stop()
	changed := s.api.o.People.Changed()
	if err := s.renew(ctx); err != nil { // so that nothing is missed that changed before
		return err
	}
	for {
		select {
		case <-changed:
			changed = s.api.o.People.Changed()
			if err := s.renew(ctx); err != nil {
				return err
			}
		default:
		}
		events, last, late, more := feed.after(n)
		if err := s.deliver(n, last, late, events); err != nil {
			return err
		}
		n = last
		if late || len(events) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-more:
		case <-changed:
		case <-ticker.C:
			if err := s.renew(ctx); err != nil {
				return err
			}
		}
	}
}

func (s *stream) deliver(n, last uint64, late bool, events []Event) error {
	feed := s.api.o.Feed
	if late {
		return s.send(feed.id(last), eventReload, []byte("{}"))
	}
	for i, e := range events {
		if !e.isFor(s.caller) {
			continue
		}
		text, err := plainjson.Marshal(e)
		if err != nil {
			return err
		}
		if err := s.send(feed.id(n+uint64(i)+1), e.Type, text); err != nil {
			return err
		}
	}
	return nil
}

// renew looks who reads: a session that has ended reads no more, and grants that were taken count at once.
func (s *stream) renew(ctx context.Context) error {
	caller, err := s.api.o.People.Recognize(ctx, secretOf(ctx))
	if err != nil {
		return err
	}
	s.caller = caller
	return s.write(": alive\n\n")
}

// send writes an event. JSON has no line ends, and types are ours.
func (s *stream) send(id, event string, data []byte) error {
	return s.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, event, data))
}

func (s *stream) write(text string) error {
	const patience = 10 * time.Second
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
