package sandbox_test

import (
	"testing"

	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/sandbox"
)

const work = `
def f():
    out = []
    for i in range(20000):
        line = "name" + str(i) + " = " + "%d" % (i * 2)
        if line.split(" = ")[0] != "x" and i + 1 > 0:
            out.append(line.strip())
    return "\n".join(out)
f()
`

// What the checks cost: the same work with them and without.
func BenchmarkChecked(b *testing.B) {
	for b.Loop() {
		if _, err := run(b.Context(), work, sandbox.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnchecked(b *testing.B) {
	o := dialect()
	for b.Loop() {
		if _, err := starlark.ExecFileOptions(&o, &starlark.Thread{}, "test.star", work, nil); err != nil {
			b.Fatal(err)
		}
	}
}
