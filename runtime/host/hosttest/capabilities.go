package hosttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
)

// Capabilities demands that a wrapper hands on all that the wrapped host can do: each
// method of host.Capabilities reaches it, and gives what it answers. But is what the
// wrapper answers by itself.
func Capabilities(t *testing.T, wrap func(t *testing.T, h host.Host) host.Host, but ...string) {
	abilities := reflect.TypeFor[host.Capabilities]()
	for i := range abilities.NumMethod() {
		method := abilities.Method(i)
		if method.PkgPath != "" || slices.Contains(but, method.Name) {
			continue
		}
		t.Run(method.Name, func(t *testing.T) {
			bare := newPeculiar(t)
			want := answer(t, bare, method)
			bare.asked = map[string]int{}
			wrapped := wrap(t, bare)
			if got := answer(t, wrapped, method); got != want {
				t.Errorf("the host answers %s, the wrapper %s", want, got)
			}
			if bare.asked[method.Name] == 0 {
				t.Errorf("the host is not asked")
			}
		})
	}
}

// answer calls a method, and describes what it gives.
func answer(t *testing.T, h host.Host, method reflect.Method) (text string) {
	arguments := map[reflect.Type]any{
		reflect.TypeFor[context.Context](): t.Context(), reflect.TypeFor[string](): "/d", reflect.TypeFor[time.Duration](): time.Hour,
	}
	var in []reflect.Value
	for i := range method.Type.NumIn() {
		value := arguments[method.Type.In(i)]
		if value == nil {
			t.Fatalf("%s takes a %s, of which this test knows none", method.Name, method.Type.In(i))
		}
		in = append(in, reflect.ValueOf(value))
	}
	for _, out := range reflect.ValueOf(h).MethodByName(method.Name).Call(in) {
		switch v := out.Interface().(type) {
		case error:
			return fmt.Sprintf("an error, its own: %t", strings.Contains(v.Error(), errPeculiar.Error()))
		case host.Init:
			text += " init " + v.System()
		case time.Time:
			text += v.UTC().String()
		case io.Closer:
			v.Close()
		case host.Host:
			_, err := v.Lstat("/")
			text += fmt.Sprintf(" a host of %s, %v", v.TempName(), err)
		case host.Info, bool, int, string, []int, nil:
			text += fmt.Sprintf(" %+v", v)
		}
	}
	return text
}

// errPeculiar is what no other host says.
var errPeculiar = errors.New("a peculiar host")

// peculiar is a host with answers that no other one gives. Each of its methods notes
// that it was asked.
type peculiar struct {
	*host.Memory
	asked map[string]int
}

func newPeculiar(t *testing.T) *peculiar {
	p := &peculiar{host.NewMemory(), map[string]int{}}
	if err := errors.Join(p.Memory.Mkdir("/d", host.Meta{}), p.Memory.Add("/f", "text")); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peculiar) ask(method string) { p.asked[method]++ }

func (p *peculiar) OpenDir(path string) (host.Dir, error) {
	p.ask("OpenDir")
	return p.Memory.OpenDir(path)
}

func (p *peculiar) OpenNoFollow(path string) (io.ReadCloser, host.Info, error) {
	p.ask("OpenNoFollow")
	return p.Memory.OpenNoFollow("/f")
}

func (p *peculiar) NoFollow() host.Host { p.ask("NoFollow"); return p }

func (p *peculiar) ForRun(id string) host.Host { p.ask("ForRun"); return p }

func (p *peculiar) Init(context.Context, string) (host.Init, error) {
	p.ask("Init")
	return peculiarInit{}, nil
}

func (p *peculiar) Links(context.Context) (links.Devices, error) {
	p.ask("Links")
	return nil, errPeculiar
}

func (p *peculiar) Network() (host.Network, error) { p.ask("Network"); return nil, errPeculiar }

func (p *peculiar) Tune(path, value string) error { p.ask("Tune"); return errPeculiar }

func (p *peculiar) Now() time.Time { p.ask("Now"); return time.Unix(4711, 0) }

func (p *peculiar) Sleep(context.Context, time.Duration) error { p.ask("Sleep"); return errPeculiar }

func (p *peculiar) Actor() (uid, gid int) { p.ask("Actor"); return 4711, 4712 }

func (p *peculiar) Credentials() host.Credentials {
	p.ask("Credentials")
	return host.Credentials{UID: 4711, GID: 4712}
}

func (p *peculiar) Access(string) host.Access { p.ask("Access"); return host.Access{Immutable: true} }

func (p *peculiar) TempName() string { p.ask("TempName"); return "peculiar" }

func (p *peculiar) Sync() error { p.ask("Sync"); return errPeculiar }

func (p *peculiar) StrayProcesses(run, part string) []int {
	p.ask("StrayProcesses")
	return []int{4711}
}

func (p *peculiar) EndStrayProcesses(run, part string) error {
	p.ask("EndStrayProcesses")
	return errPeculiar
}

func (p *peculiar) Running() bool { p.ask("Running"); return false }

// peculiarInit is an init system of no known kind.
type peculiarInit struct{ host.Init }

func (peculiarInit) System() string { return "peculiar" }
