// Package moduletest_test tests the modules, each in a file of its name, and what they
// share. They are one package, since a program to test each would take longer to link
// than to run.
package moduletest_test

import (
	"testing"

	"github.com/tenetcm/tenet/internal/rapidtest"
	"github.com/tenetcm/tenet/modules/internal/fake"
	"github.com/tenetcm/tenet/runtime/host"
)

func TestMain(m *testing.M) { rapidtest.Main(m, "") }

// plainHost is a host for what needs nothing more.
func plainHost(t *testing.T) host.Host { return fake.Host(t) }

// put prepares a host: names of files, each followed by what it holds.
func put(files ...string) func(*testing.T, host.Host) {
	return func(t *testing.T, h host.Host) {
		for i := 0; i < len(files); i += 2 {
			fake.Put(t, h, files[i], files[i+1], 0o644)
		}
	}
}

// holds checks a host: names of files, each followed by what it must hold.
func holds(files ...string) func(*testing.T, host.Host, map[string]any) {
	return func(t *testing.T, h host.Host, _ map[string]any) {
		for i := 0; i < len(files); i += 2 {
			if is := fake.Text(h, files[i]); is != files[i+1] {
				t.Errorf("%s holds %q, want %q", files[i], is, files[i+1])
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
