package server

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/remote"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/server/access"
)

// shellModule has the host run a program as soon as it is asked.
const shellModule = `"""Runs a program."""

attributes = {"name": attr("string", key = True, doc = "Name.")}

def read(host, want):
    host.run(["wait"])
    return {}

def write(host, have, want):
    pass

def remove(host, have):
    pass
`

// What is set up on a host is told to who may import there, and the audit says what was asked. A module that is brought along takes a plan's
// grant besides: it may run programs.
func TestImportTakesItsVerb(t *testing.T) {
	b := newTarget(t)
	id, _ := b.host("web1")
	var n int
	ask := func(r machine.ImportRequest, grants ...string) (*machine.Import, error) {
		t.Helper()
		n++
		c := b.person(fmt.Sprint("bob", n), grants...)
		m := &remote.Machine{Name: "web1", Registry: modules.Standard(), Dial: func(ctx context.Context, o wire.Opening) (*wire.Conn, *wire.Hello, error) {
			return c.Dial(ctx, "web1", o)
		}}
		return m.Import(t.Context(), r, machine.Observer{})
	}
	file := machine.ImportRequest{Type: "file", Keys: machine.Values{"path": "/etc/hostname"}}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	f, err := z.Create("modules/runs.star")
	must(t, err)
	_, err = f.Write([]byte(shellModule))
	must(t, err)
	must(t, z.Close())
	own := machine.ImportRequest{Type: "runs", Keys: machine.Values{"name": "x"}, Modules: archive.Bytes()}
	for _, refused := range []struct {
		r      machine.ImportRequest
		grants []string
	}{
		{file, []string{"read@*", "plan@*", "exec@*", "deploy@*", "secrets@*", "admin@*"}},
		{file, []string{"read@*", "import@db*"}},
		{machine.ImportRequest{Contents: []string{"/etc/hostname"}}, []string{"read@*", "plan@*"}},
		{own, []string{"read@*", "import@*"}},
		{own, []string{"read@*", "plan@*"}},
	} {
		if found, err := ask(refused.r, refused.grants...); code(err) != access.CodeForbidden || found != nil {
			t.Errorf("%v: %+v, %v", refused.grants, found, err)
		}
	}
	if records := b.audit(access.AuditFilter{Host: string(id), Action: "host.request"}); len(records) > 0 {
		t.Errorf("the audit says that this was asked: %+v", records)
	}
	found, err := ask(file, "read@*", "import@web*")
	must(t, err)
	if len(found.Areas) != 1 || found.Areas[0].Parts[0].Label != "/etc/hostname" {
		t.Errorf("it tells %+v", found)
	}
	records := b.audit(access.AuditFilter{Host: string(id), Action: "host.request"})
	if len(records) != 1 || records[0].Detail["operation"] != "import" || !strings.Contains(records[0].Detail["import"], `"/etc/hostname"`) {
		t.Errorf("the audit says %+v", records)
	}
	select {
	case <-b.waiting:
		t.Error("the host has run a program")
	default:
	}
}
