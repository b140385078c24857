package cli_test

import (
	"context"
	"os"

	"filippo.io/age"
	"github.com/nats-io/nkeys"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/authority"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/enroll"
	"github.com/tenetcm/tenet/server/store"
)

// pendingHosts are hosts of a server that ask to be taken in: web1, db, and two that both want to be web2; and clone1 and clone2, which were,
// and of which copies were noticed.
func pendingHosts(ctx context.Context, s *store.Store, dir string) (*enroll.Registry, *authority.Authority, error) {
	a, err := authority.Open(ctx, dir, s, authority.Options{Recovery: func(string) error { return nil }})
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp(dir, "contents")
	if err != nil {
		return nil, nil, err
	}
	kept, err := contents.OpenFolder(folder)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := enroll.Open(ctx, s, a, kept, enroll.Options{Addresses: []string{"https://tenet.example.org"}, Many: 1})
	if err != nil {
		return nil, nil, err
	}
	text, _, err := hosts.NewToken(ctx, enroll.By{Actor: "server"}, enroll.NewToken{Uses: 6, Labels: map[string]string{"role": "*"}})
	if err != nil {
		return nil, nil, err
	}
	token, err := trust.ParseToken(text)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"web1", "db", "web2", "web2"} {
		if _, err := joinHost(ctx, hosts, token, name); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range []string{"clone1", "clone2"} {
		id, err := joinHost(ctx, hosts, token, name)
		if err == nil {
			_, err = hosts.Approve(ctx, enroll.By{Actor: "server"}, id, enroll.Approval{})
		}
		if err == nil {
			err = hosts.NoticeCopy(ctx, id)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return hosts, a, nil
}

func joinHost(ctx context.Context, hosts *enroll.Registry, token *trust.Token, name string) (trust.ID, error) {
	key, err := trust.GenerateKey()
	if err != nil {
		return "", err
	}
	connection, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	public, err := connection.PublicKey()
	if err != nil {
		return "", err
	}
	sealing, err := age.GenerateX25519Identity()
	if err != nil {
		return "", err
	}
	keys := &trust.HostKeys{Identity: key.Public(), Connection: public, Sealing: sealing.Recipient().String(), Number: 1}
	signed, err := trust.Sign(trust.KindHostKeys, keys, key)
	if err != nil {
		return "", err
	}
	_, err = hosts.Join(ctx, &identity.JoinRequest{Secret: token.Secret, Keys: signed, Name: name, Labels: map[string]string{"role": "claimed"}, Value: make([]byte, 16)}, keys, "192.0.2.1")
	return key.ID(), err
}
