package graph_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/states"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// drawn is a site with everything that a drawing can show.
func drawn() *site {
	s := nginx()
	s.state("undo")
	s.state("alarm", lazy)
	s.state("clean")
	s.block("all", []string{"run.secure", "state.data"}, rescue("state.undo"), always("state.clean"), notifyFailure("state.alarm"))
	s.state("data", parts(resource("file", "/data/\"quoted\"", "")))
	s.state("late", parts(resource("file", "/data/\"quoted\"", "")), notify("state.end"))
	s.state("end", deferred)
	return s
}

func TestDrawings(t *testing.T) {
	run := drawn().compile(t).Run
	for name, draw := range map[string]func(io.Writer, *states.StateRun) error{
		"run.txt": graph.Text, "run.dot": graph.DOT, "run.mmd": graph.Mermaid, "run.json": graph.JSON,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := draw(&got, run); err != nil {
				t.Fatal(err)
			}
			golden(t, name, got.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite it with -update):\n%s", path, got)
	}
}

func TestTextOfAChain(t *testing.T) {
	var b bytes.Buffer
	if err := graph.Text(&b, chain(2000).compile(t).Run); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2000*400 {
		t.Errorf("%d bytes for 2000 states", b.Len())
	}
}
