package custom_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/host"
)

// A module of a site is used like one that comes with tenet.
func ExampleLoad() {
	site := fstest.MapFS{"modules/greeting.star": {Data: []byte(`
"""A file that greets somebody."""

attributes = {
    "path": attr("string", key = True, path = True, doc = "The file."),
    "name": attr("string", required = True, doc = "Who is greeted."),
}

def read(host, want):
    text = host.read_file(want.path, default = None)
    return None if text == None else {"name": text.removeprefix("Hello ").strip()}

def write(host, have, want):
    host.write_file(want.path, "Hello %s\n" % want.name)

def remove(host, have):
    host.remove(have.path)
`)}}
	set, list := custom.Load(site, custom.Dir, custom.Options{})
	if list.HasErrors() {
		fmt.Println(list.Error())
		return
	}
	m := set.Modules()[0]
	machine, ctx := host.NewMemory(), context.Background()
	want, err := m.Decode(map[string]any{"path": "/greeting", "name": "Ada"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Write(ctx, machine, nil, want); err != nil {
		fmt.Println(err)
		return
	}
	have, err := m.Read(ctx, machine, want)
	fmt.Println(m.Doc, m.Encode(have), err, len(m.Diff(have, want)))
	// Output: A file that greets somebody. map[name:Ada path:/greeting] <nil> 0
}
