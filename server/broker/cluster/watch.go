package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/tenetcm/tenet/runtime/fault"
	"github.com/tenetcm/tenet/runtime/link"
	"github.com/tenetcm/tenet/runtime/trust"
)

const (
	// answers is how long to wait for another server of the cluster to say that it is there.
	answers = 500 * time.Millisecond
	// askPatience is how long one server may take for an answer.
	askPatience = 10 * time.Second
	// pageSize is how many connections a server lists at once: each comes with its JWT.
	pageSize = 256
)

// watch ends connections that may not be, and those of hosts that are to be disconnected.
type watch struct {
	conn      *nats.Conn
	account   string
	signing   string // the public half of its signing key
	authorize func(trust.ID, string) bool
	report    func(error)
	found     string // the subject under which servers answer what connections of a host they have

	mu   sync.Mutex
	keys map[trust.ID][]string // by which hosts connect, the latest last
	// flooded is when hosts that flood the broker were disconnected.
	flooded map[trust.ID]time.Time
	due     int  // how often somebody has asked to look
	looking bool // somebody looks until that succeeds

	looks  func() error // look
	closed chan struct{}
	ending sync.Once
}

// client is how NATS describes a connection in what it tells by itself.
type client struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"` // as the agent says: HOST.INSTANCE
	JWT  string `json:"jwt"`
}

func newWatch(c Config, s *secrets) (*watch, error) {
	signing, err := s.signing.PublicKey()
	if err != nil {
		return nil, err
	}
	w := &watch{account: s.Account, signing: signing, authorize: c.Authorize, report: c.Report, keys: map[trust.ID][]string{}, flooded: map[trust.ID]time.Time{}, closed: make(chan struct{})}
	w.looks = w.look
	again := nats.ReconnectHandler(func(*nats.Conn) { w.lookAgain() }) // what was told meanwhile is missed
	conn, err := dial(c, s.System, again)
	if err != nil {
		return nil, err
	}
	w.conn, w.found = conn, nats.NewInbox()
	_, err1 := conn.Subscribe("$SYS.ACCOUNT."+s.Account+".CONNECT", w.begun)
	_, err2 := conn.Subscribe(w.found+".*.*", w.kickFound)
	if err := errors.Join(err1, err2, conn.FlushTimeout(askPatience), w.look()); err != nil {
		conn.Close()
		return nil, fmt.Errorf("the cluster does not tell who is connected: %w", err)
	}
	return w, nil
}

// note keeps by which key a host connects. The one before may still be in use.
func (w *watch) note(host trust.ID, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := w.keys[host]
	if !slices.Contains(keys, key) {
		w.keys[host] = append(keys[max(0, len(keys)-1):len(keys):len(keys)], key)
	}
}

// begun takes the event that a connection has begun.
func (w *watch) begun(m *nats.Msg) {
	var e struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
		Client client `json:"client"`
	}
	if err := json.Unmarshal(m.Data, &e); err != nil {
		w.report(fmt.Errorf("broker: what the cluster tells of a connection: %w", err))
		return
	}
	w.check(e.Server.ID, e.Client)
}

// check ends a connection where its host may not be connected.
func (w *watch) check(server string, c client) {
	host, key, ok := w.whose(c)
	if !ok {
		return
	}
	w.note(host, key)
	if !w.authorize(host, key) {
		w.kick(server, c.ID)
	}
}

// whose tells whose connection it is, and by which key. It is no agent's if its JWT, which the cluster has verified, is not under the signing key:
// the server's own.
func (w *watch) whose(c client) (trust.ID, string, bool) {
	claims, err := jwt.DecodeUserClaims(c.JWT)
	if err != nil || claims.Issuer != w.signing {
		return "", "", false
	}
	host := trust.ID(claims.Name)
	return host, claims.Subject, host.Check() == nil
}

// disconnect asks all servers for the connections of a host, which end as they answer.
func (w *watch) disconnect(of link.Address) error {
	w.mu.Lock()
	keys := slices.Clone(w.keys[of.Host])
	w.mu.Unlock()
	instance := of.Instance
	if instance == "" {
		instance = everyInstance
	}
	var err error
	for _, key := range keys {
		question := fmt.Appendf(nil, `{"acc":%q,"auth":true,"user":%q,"limit":%d}`, w.account, key, pageSize)
		err = errors.Join(err, w.conn.PublishRequest("$SYS.REQ.SERVER.PING.CONNZ", w.found+"."+string(of.Host)+"."+instance, question))
	}
	if errors.Is(err, nats.ErrConnectionClosed) {
		return link.ErrClosed
	}
	return err
}

// floods ends the connections of a host that sends more than an agent can have to say. It comes back, and is ended again.
func (w *watch) floods(host trust.ID) {
	w.mu.Lock()
	due := !time.Now().Before(w.flooded[host].Add(time.Second))
	if due {
		w.flooded[host] = time.Now()
	}
	w.mu.Unlock()
	if !due {
		return
	}
	w.report(fmt.Errorf("broker: the host %s floods it", host))
	if err := w.disconnect(link.Address{Host: host}); err != nil {
		w.report(fmt.Errorf("broker: cannot end a connection: %w", err))
	}
}

// everyInstance stands in a subject where none is meant: no instance has this name.
const everyInstance = "+"

// kickFound takes what a server has found. Where one instance alone is meant, the names count that agents give themselves.
func (w *watch) kickFound(m *nats.Msg) {
	a, err := parseAnswer(m.Data)
	if err != nil {
		w.report(fmt.Errorf("broker: what the cluster tells of connections: %w", err))
		return
	}
	words := strings.Split(m.Subject, ".")
	host, wanted := words[len(words)-2], words[len(words)-1]
	for _, c := range a.clients {
		_, instance, _ := strings.Cut(c.Name, ".")
		if of, _, ok := w.whose(c); ok && string(of) == host && (wanted == everyInstance || wanted == instance) {
			w.kick(a.server, c.ID)
		}
	}
}

// kick has a server end a connection. That it is gone, or the server with it, is as good.
func (w *watch) kick(server string, id uint64) {
	// Nobody hears the answer, but without a subject for it servers do nothing.
	err := w.conn.PublishRequest("$SYS.REQ.SERVER."+server+".KICK", w.found+".kicked", fmt.Appendf(nil, `{"cid":%d}`, id))
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.report(fmt.Errorf("broker: cannot end a connection: %w", err))
	}
}

// lookAgain looks besides, until that succeeds. Where somebody looks already, it is done once more after that.
func (w *watch) lookAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due++
	if !w.looking {
		w.looking = true
		fault.Go(w.lookUntilDone)
	}
}

// Pauses between looks that have failed.
const (
	firstPause = time.Second
	mostPause  = time.Minute
)

// lookUntilDone looks until that succeeds, or the watch is closed. A connection that may not be stays until then, so each failure is told.
func (w *watch) lookUntilDone() {
	pause := firstPause
	for {
		w.mu.Lock()
		due := w.due
		w.mu.Unlock()
		err := w.looks()
		if w.isClosed() {
			return
		}
		if err == nil {
			w.mu.Lock()
			if w.looking = w.due != due; !w.looking {
				w.mu.Unlock()
				return
			}
			w.mu.Unlock()
			pause = firstPause
			continue
		}
		w.report(fmt.Errorf("broker: the cluster does not tell who is connected, and is asked again: %w", err))
		select {
		case <-w.closed:
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, mostPause)
	}
}

func (w *watch) isClosed() bool {
	select {
	case <-w.closed:
		return true
	default:
		return w.conn != nil && w.conn.IsClosed()
	}
}

// look asks all servers for their connections, and then ends those that may not be. A server that does not answer keeps nobody from the others.
func (w *watch) look() error {
	servers, err := w.servers()
	if err != nil {
		return err
	}
	var failed []error
	for _, server := range servers {
		all, err := connections(func(offset int) ([]client, error) { return w.page(server, offset) })
		if err != nil {
			failed = append(failed, fmt.Errorf("the server %s: %w", server, err))
		}
		for _, c := range all {
			w.check(server, c)
		}
	}
	return errors.Join(failed...)
}

// connections gives all connections of a server, which lists them by their numbers, a page at a time. Those that end meanwhile have others move up: a page that
// begins beyond what is known may have left some out, so an earlier one is asked for. After an error it gives those that are known.
func connections(page func(offset int) ([]client, error)) (all []client, err error) {
	var last uint64
	for offset := 0; ; {
		list, err := page(offset)
		if err != nil {
			return all, err
		}
		if offset > 0 && (len(list) == 0 || list[0].ID > last) {
			offset = max(0, offset-pageSize/2)
			continue
		}
		for _, c := range list {
			if c.ID > last {
				all, last = append(all, c), c.ID
			}
		}
		if len(list) < pageSize {
			return all, nil
		}
		offset += pageSize / 2 // so that the next one begins among these
	}
}

// servers lists those of the cluster: all that answer.
func (w *watch) servers() (ids []string, err error) {
	inbox := w.conn.NewRespInbox()
	sub, err := w.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sub.Unsubscribe()) }()
	if err := w.conn.PublishRequest("$SYS.REQ.SERVER.PING.IDZ", inbox, nil); err != nil {
		return nil, err
	}
	for {
		m, err := sub.NextMsg(answers)
		if errors.Is(err, nats.ErrTimeout) {
			return ids, nil
		}
		if err != nil {
			return nil, err
		}
		var answer struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return nil, err
		}
		ids = append(ids, answer.ID)
	}
}

// page lists connections at a server.
func (w *watch) page(server string, offset int) ([]client, error) {
	question := fmt.Appendf(nil, `{"acc":%q,"auth":true,"sort":"cid","limit":%d,"offset":%d}`, w.account, pageSize, offset)
	m, err := w.conn.Request("$SYS.REQ.SERVER."+server+".CONNZ", question, askPatience)
	if err != nil {
		return nil, err
	}
	a, err := parseAnswer(m.Data)
	return a.clients, err
}

// answer is what a server tells of its connections.
type answer struct {
	server  string
	clients []client
}

func parseAnswer(data []byte) (answer, error) {
	var a struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
		Data struct {
			Connections []struct {
				ID   uint64 `json:"cid"`
				Name string `json:"name"`
				JWT  string `json:"jwt"`
			} `json:"connections"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return answer{}, err
	}
	out := answer{server: a.Server.ID}
	for _, c := range a.Data.Connections {
		out.clients = append(out.clients, client(c))
	}
	return out, nil
}

func (w *watch) close() {
	w.ending.Do(func() { close(w.closed) })
	w.conn.Close()
}
