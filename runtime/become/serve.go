package become

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/wire"
)

// Serve is what the other process does: it lets h be used over the streams until they
// end, or ctx does.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h host.Host) error {
	ctx, stop := context.WithCancelCause(ctx)
	s := &server{conn: wire.New(in, out, nil), ctx: ctx, base: h, hosts: map[string]host.Host{}, dirs: map[uint64]host.Dir{}, files: map[uint64]io.ReadCloser{}, calls: map[uint64]*servedCall{}}
	hi := hello{Protocol: protocol, Running: host.Running(h)}
	hi.UID, hi.GID = h.Actor()
	hi.Credentials = h.Credentials()
	if closer, ok := in.(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { closer.Close() })()
	}
	err := s.conn.Send(kindHello, hi)
	if err == nil {
		err = s.receive()
	}
	stop(errDisconnected)
	s.group.Wait()
	s.close()
	if errors.Is(err, io.EOF) || context.Cause(ctx) != errDisconnected {
		err = nil
	}
	return err
}

// Connect gives the host that Serve serves at the other end of the streams; here is the
// machine as it looks from this side.
func Connect(in io.Reader, out io.Writer, here host.Host) (host.Host, error) {
	conn := wire.New(in, out, nil)
	m := &machine{local: here}
	if err := conn.Expect(kindHello, &m.hello); err != nil {
		return nil, err
	}
	m.link = newLink(conn, "the other side")
	return m, nil
}

var errDisconnected = errors.New("the other side has ended")

// server serves one connection.
type server struct {
	conn      *wire.Conn
	ctx       context.Context
	base      host.Host
	group     fault.Group
	answering sync.Mutex // held while an answer to kindPing is on its way

	mu    sync.Mutex
	hosts map[string]host.Host // by the run
	dirs  map[uint64]host.Dir
	files map[uint64]io.ReadCloser
	last  uint64 // number of something open
	calls map[uint64]*servedCall
}

// servedCall is a call that comes in, or is being carried out.
type servedCall struct {
	message  message
	begun    bool
	cancel   context.CancelFunc
	contents chan shortFrame
}

// receive takes frames until there are none.
func (s *server) receive() error {
	for {
		f, err := s.conn.Receive()
		if err != nil {
			return err
		}
		id, short, err := parseFrame(f)
		if err != nil {
			return err
		}
		if err := s.take(id, short); err != nil {
			return err
		}
	}
}

func (s *server) take(id uint64, f shortFrame) error {
	s.mu.Lock()
	c := s.calls[id]
	many := len(s.calls)
	s.mu.Unlock()
	switch f.kind {
	case kindCall:
		return s.takeCall(id, c, f, many)
	case kindCancel:
		if c != nil && c.begun {
			c.cancel()
		}
	case kindContent:
		if c == nil || !c.begun {
			return nil // it has ended meanwhile
		}
		select {
		case c.contents <- f:
		default:
			return &wire.ProtocolError{Message: "content came that was not asked for"}
		}
	case kindPing:
		// Receiving goes on meanwhile: who asks may have to take something else first.
		if s.answering.TryLock() {
			s.group.Go(func() {
				defer s.answering.Unlock()
				_ = sendShort(s.conn, kindPong, id, 0, nil) // where it cannot be sent, receiving fails too
			})
		}
	default:
		return &wire.ProtocolError{Message: fmt.Sprintf("a %q frame came to who acts for another", f.kind)}
	}
	return nil
}

// takeCall takes a piece of a call, and begins it with the last one.
func (s *server) takeCall(id uint64, c *servedCall, f shortFrame, many int) error {
	switch {
	case c == nil && many == maxCalls:
		return &wire.ProtocolError{Message: "too many calls at a time"}
	case c == nil:
		c = &servedCall{contents: make(chan shortFrame, 1)}
		s.mu.Lock()
		s.calls[id] = c
		s.mu.Unlock()
	case c.begun:
		return &wire.ProtocolError{Message: "two calls have one number"}
	}
	whole, err := c.message.add(f)
	if err != nil || !whole {
		return err
	}
	head := &call{}
	payload, err := c.message.read(head)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c.message, c.begun, c.cancel = message{}, true, cancel
	s.group.Go(func() {
		defer cancel()
		var answer *reply
		var data []byte
		err := fault.Do(func() error {
			answer, data = s.answer(ctx, &request{server: s, id: id, served: c, call: head, payload: payload})
			return nil
		})
		if err != nil {
			answer = &reply{Failure: failureOf(err)}
		}
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		// Where it cannot be sent, receiving fails too.
		if err := sendMessage(s.conn, kindReply, id, answer, data); err != nil {
			_ = sendMessage(s.conn, kindReply, id, &reply{Failure: failureOf(err)}, nil)
		}
	})
	return nil
}

// close closes what is open still.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dirs {
		d.Close()
	}
	for _, f := range s.files {
		f.Close()
	}
}

// keepFile keeps something open, and gives its number.
func (s *server) keepFile(f io.ReadCloser) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.files[s.last] = f
	return s.last
}

func (s *server) keepDir(d host.Dir) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.dirs[s.last] = d
	return s.last
}

// forRun gives the host as it is in a run.
func (s *server) forRun(run string) host.Host {
	if run == "" {
		return s.base
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[run]
	if h == nil {
		h = s.base.ForRun(run)
		s.hosts[run] = h
	}
	return h
}

// request is a call that is carried out.
type request struct {
	*server
	id      uint64
	served  *servedCall
	call    *call
	payload []byte
}

// errUnknownCall is for a call that is none.
var errUnknownCall = errors.New("there is no such call")

func (s *server) answer(ctx context.Context, r *request) (*reply, []byte) {
	if r.call.Part != "" {
		ctx = host.WithPart(ctx, r.call.Part)
	}
	h := s.forRun(r.call.Run)
	if r.call.NoFollow {
		h = host.NoFollow(h)
	}
	out := &reply{}
	for _, group := range []func(context.Context, host.Host, *reply) ([]byte, error){r.look, r.write, r.open, r.directory, r.machine} {
		data, err := group(ctx, h, out)
		if err == errUnknownCall {
			continue
		}
		if err != nil {
			out.Failure = failureOf(err)
		}
		return out, data
	}
	return &reply{Failure: failureOf(fmt.Errorf("%s: %w", r.call.Op, errUnknownCall))}, nil
}

// look carries out what only looks at paths.
func (r *request) look(_ context.Context, h host.Host, out *reply) ([]byte, error) {
	path := string(r.call.Path)
	switch r.call.Op {
	case "lstat":
		i, err := h.Lstat(path)
		out.Info = infoOf(i)
		return nil, err
	case "readdir":
		list, err := h.ReadDir(path)
		out.entries(list)
		return nil, err
	case "readlink":
		target, err := h.ReadLink(path)
		out.Text = text(target)
		return nil, err
	case "access":
		a := h.Access(path)
		out.Access = &a
		return nil, nil
	case "sync":
		return nil, h.Sync()
	}
	return nil, errUnknownCall
}

func (r *reply) entries(list []host.Entry) {
	for _, e := range list {
		r.Entries = append(r.Entries, entry{text(e.Name), e.Kind})
	}
}

// write carries out what changes paths, and runs programs.
func (r *request) write(ctx context.Context, h host.Host, out *reply) ([]byte, error) {
	path := string(r.call.Path)
	switch r.call.Op {
	case "write":
		return nil, h.WriteFile(ctx, path, r.content(ctx), r.call.Meta)
	case "mkdir":
		return nil, h.Mkdir(path, r.call.Meta)
	case "symlink":
		return nil, h.Symlink(string(r.call.Target), path, r.call.Meta)
	case "set_meta":
		return nil, h.SetMeta(path, r.call.Meta)
	case "remove":
		return nil, h.Remove(path)
	case "tune":
		return nil, host.Tune(h, path, string(r.call.Target))
	case "run":
		return r.run(ctx, h, out)
	}
	return nil, errUnknownCall
}

func (r *request) run(ctx context.Context, h host.Host, out *reply) ([]byte, error) {
	from := r.call.Command
	if from == nil {
		return nil, errors.New("there is no command")
	}
	c := host.Command{Argv: stringsOf(from.Argv), Env: stringsOf(from.Env), Dir: string(from.Dir), Stdin: r.payload, User: string(from.User), MaxOutput: from.MaxOutput}
	if from.Watch {
		c.Watch = func(stream string, data []byte) {
			what := byte(1)
			if stream == "stderr" {
				what = 2
			}
			for len(data) > 0 {
				piece := data[:min(len(data), pieceSize)]
				data = data[len(piece):]
				_ = sendShort(r.conn, kindOutput, r.id, what, piece) // a connection that is broken is told of elsewhere
			}
		}
	}
	var result host.Result
	var err error
	if from.Query {
		result, err = h.Query(ctx, host.Query{Command: c, Reads: stringsOf(from.Reads), Keep: from.Keep})
	} else {
		result, err = h.Run(ctx, c)
	}
	out.ExitCode, out.Stdout, out.Cut = result.ExitCode, len(result.Stdout), result.Truncated
	return append(append([]byte(nil), result.Stdout...), result.Stderr...), err
}

// content is what is to be written: it comes as it is asked for.
func (r *request) content(ctx context.Context) host.Content {
	c := r.call.Content
	switch {
	case c == nil || c.Inline:
		return host.Text(string(r.payload))
	case c.Size < 0:
		return host.Flow(func() (io.ReadCloser, error) { return &contentReader{request: r, ctx: ctx, fromStart: 1}, nil })
	}
	return host.Stream(c.Size, c.SHA256, func() (io.ReadCloser, error) { return &contentReader{request: r, ctx: ctx, fromStart: 1}, nil })
}

// contentReader reads content from the other side.
type contentReader struct {
	*request
	ctx       context.Context
	fromStart byte // 1: from its start
	rest      []byte
	err       error
}

// Read gives the next bytes.
func (g *contentReader) Read(data []byte) (int, error) {
	for len(g.rest) == 0 && g.err == nil {
		if err := sendShort(g.conn, kindContentRequest, g.id, g.fromStart, nil); err != nil {
			return 0, err
		}
		g.fromStart = 0
		select {
		case f := <-g.served.contents:
			switch f.what {
			case contentData:
				g.rest = f.data
			case contentEnd:
				g.err = io.EOF
			default:
				g.err = errors.New(string(f.data))
			}
		case <-g.ctx.Done():
			g.err = context.Cause(g.ctx)
		}
	}
	if len(g.rest) == 0 {
		return 0, g.err
	}
	n := copy(data, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// Close ends it; whoever gives learns of that with the reply.
func (g *contentReader) Close() error { return nil }
