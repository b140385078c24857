package nats

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
)

// dialer makes the connection of one attempt, and keeps hold of it: closing it wakes up whoever waits for it.
type dialer struct {
	ctx    context.Context
	config *Config
	to     endpoint

	mu   sync.Mutex
	conn net.Conn
	head *headConn // of a WebSocket
}

// SkipTLSHandshake says that Dial does it, unless NATS begins it after its greeting.
func (d *dialer) SkipTLSHandshake() bool { return d.to.Scheme != "nats" }

// Dial connects.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, d.config.patience)
	defer cancel()
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := context.Cause(d.ctx); err != nil { // close has found nothing to close
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	d.conn = conn
	if d.to.Scheme == "wss" {
		d.head = &headConn{Conn: conn}
		return d.head, nil
	}
	return conn, nil
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	proxy, err := d.config.proxy(d.to)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if proxy != nil {
		conn, err = connectByProxy(ctx, proxy, d.config, address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err != nil || d.to.Scheme == "nats" {
		return conn, err
	}
	return handshake(ctx, conn, d.to.tls)
}

func handshake(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	return secure, nil
}

// ignoreClosed leaves out that something is closed already, as a handshake leaves it whose time is over.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// close ends the connection, if there is one.
func (d *dialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil {
		_ = d.conn.SetDeadline(time.Unix(1, 0)) // TLS says goodbye else, and waits for it
		_ = d.conn.Close()                      // it is given up, whatever becomes of it
	}
}

// refusal is what an HTTP server has answered in place of a WebSocket.
func (d *dialer) refusal(err error) (time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head == nil {
		return 0, err
	}
	r, parseErr := http.ReadResponse(bufio.NewReader(bytes.NewReader(d.head.copyHead())), nil)
	if parseErr != nil || r.StatusCode == http.StatusSwitchingProtocols {
		return 0, err
	}
	_ = r.Body.Close() // of bytes in memory
	seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
	err = fmt.Errorf("it answers %s", diag.Clean(r.Status, "", '�'))
	return time.Duration(min(max(seconds, 0), 3600)) * time.Second, err
}

// headConn remembers the first bytes that it reads: the head of the answer of an HTTP server.
type headConn struct {
	net.Conn
	mu   sync.Mutex
	head []byte
}

const maxHead = 4 << 10

// Read is net.Conn's.
func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.head) < maxHead {
		c.head = append(c.head, p[:min(n, maxHead-len(c.head))]...)
	}
	return n, err
}

func (c *headConn) copyHead() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.head)
}

// connectByProxy asks a proxy for a connection (RFC 9110, 9.3.6).
func connectByProxy(ctx context.Context, proxy *url.URL, c *Config, address string) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case proxy.Scheme != "http" && proxy.Scheme != "https":
		return nil, &diag.HintError{Code: "invalid_proxy", Message: fmt.Sprintf("%.200q is no proxy that can be used", proxy.Redacted()), Hint: "write http://HOST:PORT or https://HOST:PORT"}
	case port == "" && proxy.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err == nil && proxy.Scheme == "https" {
		conn, err = handshake(ctx, conn, &tls.Config{RootCAs: c.ProxyAuthorities, ServerName: proxy.Hostname(), MinVersion: tls.VersionTLS12})
	}
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", proxy.Redacted(), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	reader, err := ask(conn, proxy, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the proxy %s: %w", proxy.Redacted(), err), ignoreClosed(conn.Close()))
	}
	return &restConn{Conn: conn, rest: reader}, nil
}

func ask(conn net.Conn, proxy *url.URL, address string) (*bufio.Reader, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(&limitedReader{conn, 64 << 10}, 4<<10)
	answer, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("it answers %s", diag.Clean(answer.Status, "", '�')), answer.Body.Close())
	}
	return reader, nil
}

// limitedReader fails for an answer without an end.
type limitedReader struct {
	net.Conn
	left int
}

// Read is io.Reader's.
func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := r.Conn.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// restConn reads first what came right behind the answer of a proxy.
type restConn struct {
	net.Conn
	rest *bufio.Reader
}

// Read is net.Conn's.
func (c *restConn) Read(p []byte) (int, error) {
	if c.rest != nil && c.rest.Buffered() > 0 {
		return c.rest.Read(p[:min(len(p), c.rest.Buffered())])
	}
	c.rest = nil
	return c.Conn.Read(p)
}
