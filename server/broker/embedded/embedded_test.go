package embedded

import (
	"testing"

	"github.com/tenetcm/tenet/server/broker/brokertest"
)

func TestBroker(t *testing.T) {
	brokertest.Run(t, func(t testing.TB) *brokertest.Setup {
		s := open(t, nil)
		return &brokertest.Setup{Broker: s, Dial: s.dial, Refused: s.refused(), Raw: s.raw}
	})
}

func TestBrokerOverHTTPS(t *testing.T) {
	brokertest.Run(t, func(t testing.TB) *brokertest.Setup {
		s := overHTTPS(t, nil)
		return &brokertest.Setup{Broker: s, Dial: s.dial, Refused: s.refused(), Raw: s.raw}
	})
}
