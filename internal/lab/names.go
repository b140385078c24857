package lab

import (
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// serveNames answers the hosts' questions for one another's names, until the run
// is closed. Any other name does not exist: nobody waits for an answer.
func (r *Run) serveNames() error {
	err := r.inside(func() (err error) {
		r.names, err = net.ListenPacket("udp4", gateway+":53")
		return err
	})
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := r.names.ReadFrom(buffer)
			if err != nil {
				return // closed
			}
			if reply := answer(buffer[:n], r.addressOf); reply != nil {
				_, _ = r.names.WriteTo(reply, from) // who got no answer asks again
			}
		}
	}()
	return nil
}

// answer gives the answer to a question by DNS; nil for what is none.
func answer(question []byte, lookup func(string) string) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || m.Response || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	found := net.ParseIP(lookup(strings.TrimSuffix(q.Name.String(), "."))).To4()
	reply := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: m.ID, Response: true, Authoritative: true,
			RecursionDesired: m.RecursionDesired, RecursionAvailable: true,
		},
		Questions: m.Questions,
	}
	switch {
	case found == nil:
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte(found)},
		}}
	}
	data, err := reply.Pack()
	if err != nil {
		return nil
	}
	return data
}
