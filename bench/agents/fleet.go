package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/agent/daemon"
	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server"
	"github.com/tenetcm/tenet/server/store"
)

// hostName names the host with a number, from 0.
func hostName(n int) string { return fmt.Sprintf("host%05d", n) }

// stateDir is the state folder of a host.
func stateDir(records string, n int) string { return filepath.Join(records, hostName(n)) }

// member is a host with the keys that only it has otherwise.
type member struct {
	identity            trust.PrivateKey
	connection, sealing string
	certificate         *trust.Signed
	value               []byte
}

func newMember() (*member, error) {
	m := &member{value: make([]byte, identity.ValueSize)}
	rand.Read(m.value)
	var err error
	if m.identity, err = trust.GenerateKey(); err != nil {
		return nil, err
	}
	connection, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := connection.Seed()
	if err != nil {
		return nil, err
	}
	public, err := connection.PublicKey()
	if err != nil {
		return nil, err
	}
	sealing, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	m.connection, m.sealing = string(seed), sealing.String()
	m.certificate, err = trust.Sign(trust.KindHostKeys, &trust.HostKeys{Identity: m.identity.Public(), Connection: public, Sealing: sealing.Recipient().String(),
		Number: 1, Issued: time.Now().UTC()}, m.identity)
	return m, err
}

// enrol makes a new server with hosts that have joined it: their rows are written into its store, and what each knows of it into the folder of its
// agent, as if it had.
func enrol(ctx context.Context, at setup, records string, agents int) error {
	c, err := at.config()
	if err != nil {
		return err
	}
	s, err := server.Open(ctx, c)
	if err != nil {
		return err
	}
	for from := 0; from < agents && err == nil; from += 1000 {
		err = s.Store.Write(ctx, func(tx store.Tx) error {
			for n := from; n < min(from+1000, agents); n++ {
				if err := enrolOne(tx, s, at, records, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(err, s.Close())
}

func enrolOne(tx store.Tx, s *server.Server, at setup, records string, n int) error {
	m, err := newMember()
	if err != nil {
		return err
	}
	keys, err := json.Marshal(m.certificate)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	if _, err := tx.Exec(`INSERT INTO enroll_hosts (id, name, labels, state, reason, keys, token, source, asked_at, decided_at, decided_by, renewed_at,
		value, former, any_value, copied_at, copied, question, successor, version)
		VALUES ($1, $2, '{}', 'active', '', $3, '', '127.0.0.1', $4, $4, 'bench', $4, $5, $6, 0, NULL, 0, 0, '', $7)`,
		string(m.identity.Public().ID()), hostName(n), keys, now, m.value, []byte{}, int64(n+1)); err != nil {
		return err
	}
	private, err := m.identity.PEM()
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{
		"format": "tenet.identity/1",
		"keys":   map[string]any{"identity": string(private), "connection": m.connection, "sealing": m.sealing, "certificate": m.certificate},
		"state":  identity.Active, "name": hostName(n), "addresses": []string{"https://" + at.listen}, "brokers": []string{broker(at.agents, n)},
		"documents": s.Authority.Chain().Signed(), "value": m.value,
	})
	if err != nil {
		return err
	}
	dir := filepath.Join(daemon.Folder(stateDir(records, n)), "identity")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "identity.json"), data, 0o600)
}

// broker is where an agent connects: the addresses of this machine take turns, since each has a limited number of ports towards another one.
func broker(address string, n int) string {
	_, port := splitAddress(address)
	return fmt.Sprintf("tls://127.0.0.%d:%s", 1+n%4, port)
}
