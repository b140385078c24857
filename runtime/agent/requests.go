package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/runtime/channel"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/runtime/wire"
)

// requestLog is what was asked of the host, and by whom, a line each: durable before what changes something begins. It is for people; that
// nothing is done twice is told by nonces, none of which outlives the process.
type requestLog struct {
	folder folder
	limit  int64 // how large a file becomes before another one is begun; the one before is kept

	mu   sync.Mutex
	file file
	size int64
}

const (
	requestsName  = "requests.jsonl"
	formerName    = requestsName + ".1"
	maxRequestLog = 1 << 20
	// maxOperator bounds what a line says of who asks: a server may call them anything.
	maxOperator = 200
)

// openRequests opens the log. What a loss of power has left of a line is cut off.
func openRequests(in folder) (*requestLog, error) {
	f, err := in.Open(requestsName, true)
	if err != nil {
		return nil, err
	}
	l := &requestLog{folder: in, limit: maxRequestLog, file: f}
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if l.size = int64(bytes.LastIndexByte(data, '\n') + 1); err == nil && l.size < int64(len(data)) {
		err = f.Truncate(l.size)
	}
	if err == nil {
		err = in.Sync() // or what is written into it might have no name after a loss of power
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// reads tells whether a request changes nothing. A plan is not among them: it runs what its site says, such as guards and modules.
func reads(verb trust.Verb) bool {
	switch verb {
	case channel.Open, channel.VerbOf(wire.OpPing), channel.VerbOf(wire.OpStatus), channel.VerbOf(wire.OpHistory), channel.VerbOf(wire.OpLogs), channel.VerbOf(wire.OpManaged):
		return true
	}
	return false
}

// begin notes a request, unless it only reads.
func (l *requestLog) begin(asked channel.Asked) error {
	if reads(asked.Verb) {
		return nil
	}
	line, err := json.Marshal(struct {
		At       time.Time  `json:"at"`
		ID       string     `json:"id"`
		Verb     trust.Verb `json:"verb"`
		Operator string     `json:"operator"`
		Key      string     `json:"key"`
	}{time.Now().UTC(), asked.ID, asked.Verb, shorten(asked.Operator), shorten(asked.Key)})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(append(line, '\n')); err != nil {
		return fmt.Errorf("the request cannot be recorded: %w", err)
	}
	return nil
}

// shorten bounds the name of somebody who asks.
func shorten(name string) string {
	if len(name) <= maxOperator {
		return name
	}
	return strings.ToValidUTF8(name[:maxOperator], "") + "…"
}

// write adds a line. A line that was not written whole is overwritten by the next one.
func (l *requestLog) write(line []byte) error {
	if l.size > l.limit {
		if err := l.turn(); err != nil {
			return err
		}
	}
	if _, err := l.file.WriteAt(line, l.size); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.size += int64(len(line))
	return nil
}

// turn begins another file. A crash in between leaves lines in both, and none in neither.
func (l *requestLog) turn() error {
	data, err := readFile(l.folder, requestsName)
	if err != nil {
		return err
	}
	if err := l.folder.Replace(formerName, data); err != nil {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	l.size = 0
	return nil
}

func (l *requestLog) close() error { return l.file.Close() }
