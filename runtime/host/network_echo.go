package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Echo is the network of Dial whose connections are open once a machine has answered an echo request of ICMP, as that of ping:
// address is then an IP address without a port. Nothing can be sent by such a connection.
const Echo = "echo"

const (
	// echoTries requests are sent, each of which has echoPatience: the first one may be lost while the way is being looked up.
	echoTries    = 3
	echoPatience = time.Second
	maxEcho      = 1500
)

// echoKind is what differs between ICMP (RFC 792) and ICMPv6 (RFC 4443).
type echoKind struct {
	network        string
	request, reply byte
}

func echoOf(a netip.Addr) echoKind {
	if a.Unmap().Is4() {
		return echoKind{"ip4:icmp", 8, 0}
	}
	return echoKind{"ip6:ipv6-icmp", 128, 129}
}

// echo asks a machine for an answer.
func (n localNetwork) echo(ctx context.Context, address string) (io.ReadWriteCloser, error) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return nil, fmt.Errorf("%.100q is no IP address, which an echo request needs", address)
	}
	kind := echoOf(a)
	c, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, kind.network, a.Unmap().String())
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil, fmt.Errorf("only root, or who has CAP_NET_RAW, can send an echo request: %w", ErrUnsupported)
	}
	if err != nil {
		return nil, explainDial(ctx, address, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	id := uint16(rand.Uint32())
	for try := range uint16(echoTries) {
		if err = awaitEcho(ctx, c, kind, id, try); err == nil {
			return silentConnection{}, nil
		}
	}
	return nil, explainDial(ctx, address, err)
}

// awaitEcho sends one request, and waits for its answer.
func awaitEcho(ctx context.Context, c net.Conn, kind echoKind, id, number uint16) error {
	if err := c.SetDeadline(time.Now().Add(echoPatience)); err != nil {
		return err
	}
	if ctx.Err() != nil { // its end may have come before the deadline was set
		return context.Cause(ctx)
	}
	if _, err := c.Write(kind.message(id, number)); err != nil {
		return err
	}
	packets, ok := c.(*net.IPConn)
	if !ok {
		return errors.New("this is no connection by IP")
	}
	data := make([]byte, maxEcho)
	for {
		size, _, err := packets.ReadFrom(data) // without the header of IPv4, unlike Read
		if err != nil {
			return err
		}
		if kind.answers(data[:size], id, number) {
			return nil
		}
	}
}

// message is an echo request. The checksum of ICMPv6 is made by the kernel.
func (k echoKind) message(id, number uint16) []byte {
	m := append([]byte{k.request, 0, 0, 0}, binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, id), number)...)
	sum := uint32(0)
	for i := 0; i < len(m); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(m[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(m[2:], ^uint16(sum+sum>>16))
	return m
}

// answers tells whether a message of ICMP answers a request. All messages to the machine are seen, whoever has asked.
func (k echoKind) answers(m []byte, id, number uint16) bool {
	return len(m) >= 8 && m[0] == k.reply && m[1] == 0 && binary.BigEndian.Uint16(m[4:]) == id && binary.BigEndian.Uint16(m[6:]) == number
}

// silentConnection is one by which nothing comes.
type silentConnection struct{}

func (silentConnection) Read([]byte) (int, error) { return 0, io.EOF }

func (silentConnection) Write([]byte) (int, error) {
	return 0, errors.New("nothing can be sent by a connection that an echo has opened")
}

func (silentConnection) Close() error { return nil }
