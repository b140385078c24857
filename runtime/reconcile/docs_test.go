package reconcile

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/loop.md anew")

const (
	page       = "../../docs/loop.md"
	tableBegin = "<!-- made by go test ./runtime/reconcile -update -->\n"
	tableEnd   = "<!-- end -->\n"
)

// table is the documentation of all transitions.
func table() string {
	meaning := map[Trigger]string{}
	for _, m := range Meanings() {
		meaning[m.Trigger] = m.Text
	}
	var b strings.Builder
	b.WriteString("\n| from | what happens | to |\n|---|---|---|\n")
	var last Phase
	for _, e := range Edges() {
		from := ""
		if e.From != last {
			from, last = string(e.From), e.From
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", from, meaning[e.On], e.To)
	}
	return b.String() + "\n"
}

// The page has the table as it is.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), tableBegin)
	is, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if is == table() {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is another: go test ./runtime/reconcile -update writes it", page)
	}
	if err := os.WriteFile(page, []byte(before+tableBegin+table()+tableEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each trigger has its meaning, and no edge is there twice.
func TestTable(t *testing.T) {
	meaning, seen := map[Trigger]bool{}, map[string]bool{}
	for _, m := range Meanings() {
		meaning[m.Trigger] = true
	}
	for _, e := range Edges() {
		key := fmt.Sprint(e.From, " ", e.On)
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
		if !meaning[e.On] {
			t.Errorf("%s has no meaning", e.On)
		}
	}
}
