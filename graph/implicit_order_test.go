package graph_test

import (
	"fmt"
	"testing"

	"github.com/tenetcm/tenet/states"
)

func TestPathsKeepAnOrder(t *testing.T) {
	of := func(kind, path string) option { return parts(resource(kind, path, "")) }
	in := func(name, dir string) option { return parts(worker(name, dir)) }
	for name, c := range map[string]struct {
		site func(*site)
		want string
	}{
		"same path": {func(s *site) { s.state("b", of("file", "/x")); s.state("a", of("file", "/x")) },
			"state.b state.a: after [state.b]"},
		"directory first": {func(s *site) { s.state("f", of("file", "/d/e/f")); s.state("d", of("directory", "/d")) },
			"state.d state.f: after [state.d]"},
		"absent directory last": {func(s *site) { s.state("d", absent, of("directory", "/d")); s.state("f", absent, of("file", "/d/e/f")) },
			"state.f state.d: after [state.f]"},
		"taken away and made anew": {func(s *site) {
			s.state("gone", absent, of("directory", "/d"))
			s.state("f", of("file", "/d/f"))
			s.state("d", of("directory", "/d"), unless("/never"))
		}, "state.gone state.d state.f: after [state.d]"},
		"requirement wins": {func(s *site) {
			s.state("f", of("file", "/d/f"))
			s.state("d", of("directory", "/d"), require("state.f"))
		}, "state.f state.d: after []"},
		"guard in declaration order": {func(s *site) {
			s.state("f", of("file", "/d/f"))
			s.state("look", unless("/d"))
			s.state("g", of("file", "/d/g"))
		}, "state.f state.look state.g: after [state.look]"},
		"creates": {func(s *site) {
			s.state("f", of("file", "/opt/app/f"))
			s.state("unpack", parts(func() states.PartDeclaration { p := command("u"); p.Paths = []string{"/opt/app"}; return p }()))
		}, "state.unpack state.f: after [state.unpack]"},
		"works in it": {func(s *site) { s.state("work", in("w", "/opt/app")); s.state("d", of("directory", "/opt/app")) },
			"state.d state.work: after [state.d]"},
		"works in it before it is gone": {func(s *site) { s.state("d", absent, of("directory", "/opt")); s.state("work", in("w", "/opt/app")) },
			"state.work state.d: after [state.work]"},
		"works beside a file": {func(s *site) { s.state("work", in("w", "/opt/app")); s.state("f", of("file", "/opt/app/f")) },
			"state.work state.f: after []"},
		"two work in it": {func(s *site) { s.state("a", in("w", "/opt/app")); s.state("b", in("other", "/opt/app")) },
			"state.a state.b: after []"},
		"order by way of others": {func(s *site) {
			s.state("a", of("file", "/x"), require("state.b"))
			s.state("b", of("file", "/y"))
			s.state("c", of("file", "/x"))
		}, "state.b state.a state.c: after [state.a]"},
		"nothing in common": {func(s *site) { s.state("a", of("file", "/d/a")); s.state("b", of("file", "/d/ab")) },
			"state.a state.b: after []"},
		"same key": {func(s *site) {
			s.state("b", parts(command("x")))
			s.state("a", parts(command("x")))
		}, "state.b state.a: after [state.b]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite()
			c.site(s)
			run := s.compile(t).Run
			want(t, fmt.Sprintf("%s: after %v", sequence(run), run.Invocations[len(run.Invocations)-1].After), c.want)
		})
	}
}

func TestFileOrder(t *testing.T) {
	s := newSite()
	file := func(name string) { s.top(resource("file", "/"+name, "")) }
	do := func(name string, o ...option) { s.top(command(name), o...) }
	file("f1")
	file("f2")
	do("c1")
	do("c2", func(d *states.Declaration) { d.Options.Require = refs(`file["/f3"]`) })
	file("f3")
	run := s.compile(t).Run
	want(t, edges(t, run, `file["/f2"]`), "requires [] after [] by []")
	want(t, edges(t, run, "command.c1"), `requires [] after [file["/f1"] file["/f2"]] by []`)
	want(t, edges(t, run, "command.c2"), `requires [file["/f3"]] after [file["/f1"] file["/f2"]] by []`)
	want(t, edges(t, run, `file["/f3"]`), `requires [] after [command.c1] by []`)
	s.top(command("other"), func(d *states.Declaration) { d.File = "z.hcl" })
	want(t, edges(t, s.compile(t).Run, "command.other"), "requires [] after [] by []")
}

func TestManyEdgesAreJoined(t *testing.T) {
	s := newSite()
	for i := range 100 {
		s.top(resource("file", fmt.Sprintf("/f%d", i), ""))
	}
	for i := range 100 {
		s.top(command(fmt.Sprintf("c%d", i)))
	}
	run := s.compile(t).Run
	if len(run.Joins) != 1 || len(run.Joins[0].After) != 100 {
		t.Fatalf("joins %v", run.Joins)
	}
	want(t, edges(t, run, "command.c7"), "requires [] after [join#1] by []")
}

// worker is a command that works in a directory.
func worker(name, dir string) states.PartDeclaration {
	p := command(name)
	p.Values["dir"] = dir
	return p
}
