package cli

import "github.com/tenetcm/tenet/internal/ui"

type serverBrokerCmd struct {
	Dir  string   `arg:"" help:"Make this folder, and write the files into it."`
	Host []string `help:"A server of the cluster, as HOST or HOST:PORT: it gets its whole configuration, with a certificate." placeholder:"HOST"`
}

// Run writes what a cluster needs.
func (cmd *serverBrokerCmd) Run(_ runContext, s *client) error {
	services, err := s.services()
	if err != nil {
		return err
	}
	if err := services.BrokerConfig(cmd.Dir, cmd.Host); err != nil {
		return failure(err)
	}
	return s.say("written to " + ui.Clean(cmd.Dir) + "; tenet-broker.json is for tenet's servers, nats.conf for those of NATS; keep the files .seed and nats-ca.key offline")
}
