package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// Event is something that has happened on the server.
type Event struct {
	ID   string          `json:"-"`
	Type string          `json:"type"` // EventReload: some were lost
	At   time.Time       `json:"at"`
	Site string          `json:"site"`
	Data json.RawMessage `json:"data"`
}

// EventReload is the type of the event that says that some were lost: load anew what is shown.
const EventReload = "reload"

// maxEvent is how many bytes the lines of an event have at most.
const maxEvent = 4 << 20

// silence is how long a stream may say nothing: the server says every 20 s that it is alive.
const silence = 70 * time.Second

// Events gives what happens, from now on, or after the event with an ID. A connection that breaks
// is made again, and goes on where it was. It ends with the context, or with an error that stays.
func (c *Client) Events(ctx context.Context, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := c.follow(ctx, "/v1/events", &after, func(id, kind string, data []byte) (more bool, err error) {
			e := Event{}
			if err := json.Unmarshal(data, &e); err != nil {
				return false, err
			}
			e.ID, e.Type = id, kind
			return kind == "ready" || yield(e, nil), nil
		})
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// follow reads a stream of events from now on, or after the event with an ID, until each wants no more. A connection that breaks is made again, and
// goes on where it was. It ends with the context, or with an error that stays.
func (c *Client) follow(ctx context.Context, path string, after *string, each func(id, kind string, data []byte) (more bool, err error)) error {
	for failures := 0; ; {
		got, wait, err := c.readEvents(ctx, path, after, each)
		if got {
			failures = 0
		}
		switch {
		case err == nil:
			return nil
		case wait < 0 || ctx.Err() != nil:
			return err
		}
		const doublings, longestPause = 7, time.Minute
		wait = max(wait, min(time.Duration(c.random()*float64(firstWait<<failures)), longestPause))
		failures = min(failures+1, doublings)
		if err := c.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// readEvents reads one connection. Without an error nobody wants more. got: there was something on it.
func (c *Client) readEvents(whole context.Context, path string, after *string, each func(id, kind string, data []byte) (more bool, err error)) (got bool, wait time.Duration, err error) {
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	header := http.Header{"Accept": {"text/event-stream"}}
	if *after != "" {
		header.Set("Last-Event-ID", *after)
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	answer, err := c.send(ctx, http.MethodGet, path, nil, nil, header)
	if err != nil {
		wait, err := c.failed(whole, http.MethodGet, err)
		return false, wait, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		wait, err := c.readProblem(answer)
		return false, wait, err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	var id, kind string
	var data []byte
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data = []byte(value)
		case "":
			if lines.Text() != "" || kind == "" {
				continue // it is alive
			}
			got, *after = true, id
			more, err := each(id, kind, data)
			if err != nil {
				return got, -1, noAnswer(answer)
			}
			if !more {
				return true, 0, nil
			}
			id, kind, data = "", "", nil
		}
	}
	return got, 0, &diag.HintError{Code: CodeUnreachable, Message: "the stream of events broke off", Hint: "it is taken up again", Err: lines.Err()}
}
