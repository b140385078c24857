//go:build inside

package inside

import (
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

func local(t *testing.T) host.Host {
	t.Helper()
	l, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The systemd that runs here, that of the account alice, and plans on both pass the
// suite.
func TestInit(t *testing.T) {
	for name, user := range map[string]string{"machine": "", "account": "alice"} {
		t.Run(name, func(t *testing.T) {
			hosttest.Init(t, func(t *testing.T) (host.Host, string) { return local(t), user })
		})
		t.Run(name+", plan", func(t *testing.T) {
			hosttest.Init(t, func(t *testing.T) (host.Host, string) { return host.NewShadow(local(t)), user })
		})
	}
}

// Of every service of a Debian the files alone say what systemd says.
func TestFilesSayWhatSystemdSays(t *testing.T) {
	h := local(t)
	running, err := host.InitOf(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	files, err := host.UnitFiles(h, "")
	if err != nil {
		t.Fatal(err)
	}
	services, err := running.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range services {
		mine, err := files.Service(t.Context(), s.Name)
		if err != nil || s.Enablement == "" {
			continue // it has no file
		}
		compared++
		if mine.Enablement != s.Enablement {
			t.Errorf("%s: by its files it is %q, and systemd says %q", s.Name, mine.Enablement, s.Enablement)
		}
	}
	if compared < 30 {
		t.Errorf("compared only %d", compared)
	}
}

// BenchmarkService reads one service, as each part does.
func BenchmarkService(b *testing.B) {
	l, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		i, err := host.InitOf(b.Context(), l, "")
		if err == nil {
			_, err = i.Service(b.Context(), "nginx.service")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Many can ask at once over one connection.
func TestManyAtOnce(t *testing.T) {
	h := local(t)
	errs := make(chan error)
	const askers = 20
	for range askers {
		go func() {
			i, err := host.InitOf(t.Context(), h, "")
			for range 20 {
				if err == nil {
					_, err = i.Service(t.Context(), "nginx.service")
				}
			}
			errs <- err
		}()
	}
	for range askers {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("it hangs")
		}
	}
}
