package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/sessions"
)

// StreamEvent is one thing that a host has told, in the stream of all hosts.
type StreamEvent struct {
	*sessions.Told
	Name string `json:"name,omitempty"` // of the host
}

// StreamGap is what the stream has no more, or never had: reason is "removed", or "restored" where numbers of before mean nothing any more.
type StreamGap struct {
	Reason string `json:"reason"`
}

const (
	streamMissing = "missing" // the type of a StreamGap
	streamEnd     = "end"     // nothing more is there now, and the reader wants no more
	// streamLook is how often it is looked for more without being woken: another server may have taken it in.
	streamLook = 2 * time.Second
)

func (a *API) registerStream() {
	params := []*huma.Param{
		{Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the last event that was received: the stream goes on after it. \"0\" is the beginning of what is kept; without one it begins now."},
		{Name: "follow", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean}, Description: "false: it ends, with an event \"end\", when all is told that is there."},
	}
	a.registerRaw(Operation{ID: "stream-hosts", Method: http.MethodGet, Path: "/v1/stream", Tag: "hosts", Scope: Somewhere, Verb: access.Read, Limit: -1,
		Summary: "Stream what hosts tell, as server-sent events.",
		Description: "What agents have told of runs, loops and updates, with the events of runs, each once and in the order in which the server has taken it in, as far as the caller may see it; it is kept for 30 days. " +
			"A reader that shows the id of what it got last goes on after that, without loss or doubling, also after the server has started anew. \"host\", \"stream\" and \"sequence\" tell each from all others. " +
			"The first event is \"ready\". An event \"missing\" says that something before it is no longer kept (\"removed\"), or that the server was restored, and tells all that is kept (\"restored\").",
		Codes: []string{access.CodeForbidden, access.CodeUnknown, sessions.CodeAway}}, "text/event-stream", params, a.serveStream)
}

func (a *API) serveStream(w http.ResponseWriter, r *http.Request) {
	if a.o.Sessions == nil {
		a.problem(&diag.HintError{Code: sessions.CodeAway, Message: "this server reaches no hosts"}).write(w)
		return
	}
	s := &hostStream{stream: stream{api: a, w: w, control: http.NewResponseController(w), caller: callerOf(r.Context())}, follow: r.URL.Query().Get("follow") != "false"}
	person := access.PersonOf(s.caller.Name)
	if !a.o.Feed.join(person) {
		p := newProblem(access.CodeTooMany, "you read too many streams of events already", "end some of them")
		p.RetryAfter = int(heartbeat.Seconds())
		p.write(w)
		return
	}
	defer a.o.Feed.leave(person)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	_ = s.run(r.Context(), r.Header.Get("Last-Event-ID"))
}

// hostStream is one reader's of what hosts tell.
type hostStream struct {
	stream
	follow bool
	epoch  uint64
	at     int64 // the number of what was told last
}

func (s *hostStream) id(n int64) string { return fmt.Sprintf("%d-%d", s.epoch, n) }

// begin finds where the reader goes on; missing is why something is, or empty.
func (s *hostStream) begin(ctx context.Context, lastID string) (missing string, err error) {
	all := s.api.o.Sessions
	s.epoch = all.StreamEpoch()
	_, _, last, err := all.Stream(ctx, 1<<62)
	if err != nil {
		return "", err
	}
	epoch, number, _ := strings.Cut(lastID, "-")
	n, wrong := strconv.ParseInt(number, 10, 64)
	switch {
	case lastID == "":
		s.at = last
	case lastID == "0":
		s.at = 0
	case wrong != nil || epoch != fmt.Sprint(s.epoch) || n < 0 || n > last:
		s.at = 0
		return "restored", nil
	default:
		s.at = n
	}
	return "", nil
}

func (s *hostStream) run(ctx context.Context, lastID string) error {
	missing, err := s.begin(ctx, lastID)
	if err == nil {
		err = s.send(s.id(s.at), eventReady, []byte("{}"))
	}
	if err == nil && missing != "" {
		err = s.sendMissing(missing)
	}
	if err != nil {
		return err
	}
	ticker := time.NewTicker(s.api.heartbeat)
	defer ticker.Stop()
	look := time.NewTicker(streamLook)
	defer look.Stop()
	changed := s.api.o.People.Changed()
	if err := s.renew(ctx); err != nil {
		return err
	}
	isFirst := lastID != "0" && missing == ""
	for {
		more := s.api.o.Sessions.Streamed()
		select {
		case <-changed:
			changed = s.api.o.People.Changed()
			if err := s.renew(ctx); err != nil {
				return err
			}
		default:
		}
		list, first, _, err := s.api.o.Sessions.Stream(ctx, s.at)
		if err != nil {
			return err
		}
		if isFirst && s.at+1 < first {
			err = s.sendMissing("removed")
		}
		isFirst = true // later on a slow reader may find that something is gone
		if err == nil {
			err = s.tell(list)
		}
		if err != nil {
			return err
		}
		if len(list) > 0 {
			continue
		}
		if !s.follow {
			return s.send(s.id(s.at), streamEnd, []byte("{}"))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-more:
		case <-look.C:
		case <-changed:
		case <-ticker.C:
			if err := s.renew(ctx); err != nil {
				return err
			}
		}
	}
}

func (s *hostStream) sendMissing(reason string) error {
	data, err := json.Marshal(StreamGap{reason})
	if err != nil {
		return err
	}
	return s.send(s.id(s.at), streamMissing, data)
}

// tell tells what the reader may see.
func (s *hostStream) tell(list []*sessions.Told) error {
	for _, one := range list {
		s.at = one.Number
		_, target, known := s.api.o.Hosts.State(one.Host)
		if !known || !s.caller.May(access.Read, target, one.Site) {
			continue
		}
		data, err := plainjson.Marshal(StreamEvent{one, target.Name})
		if err != nil {
			return err
		}
		if err := s.send(s.id(one.Number), one.Kind, data); err != nil {
			return err
		}
	}
	return nil
}
