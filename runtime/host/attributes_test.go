package host_test

import (
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/hosttest"
)

func TestAttributes(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (host.Host, string, string){
		"the machine": func(t *testing.T) (host.Host, string, string) {
			dir := t.TempDir()
			return local(t, ""), dir, dir
		},
		"below a root": func(t *testing.T) (host.Host, string, string) {
			dir := t.TempDir()
			return local(t, dir), "/", dir
		},
		"component-wise": func(t *testing.T) (host.Host, string, string) {
			dir := t.TempDir()
			l := local(t, dir)
			l.Componentwise()
			return l, "/", dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			hosttest.Attributes(t, open)
			t.Run("holes", func(t *testing.T) { hosttest.Holes(t, open) })
		})
	}
}
