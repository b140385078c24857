package cli

import (
	"bytes"
	"testing"

	"github.com/tenetcm/tenet/internal/ui"
)

// A parser that knows one command says of it what the one of all commands says: its help, and
// what is wrong with a flag that it does not have.
func TestParserOfOneCommand(t *testing.T) {
	whole := newParser(&grammar{}, []string{"completion"}, Environment{}, nil)
	for _, command := range names(whole.Model.Node) {
		for _, flag := range []string{"--help", "--nonsense", "--parallel=x", "--limit"} {
			if command == "exec" && flag == "--nonsense" {
				continue // it would be the program to run
			}
			var ofAll, ofOne bytes.Buffer
			args := []string{command, flag}
			status := exitDone
			parser := newParser(&grammar{}, []string{"completion"}, Environment{Out: &ofAll, Err: &ofAll}, func(int) {})
			if _, err := parser.Parse(args); err != nil && flag != "--help" {
				s := &client{console: console{Environment{Err: &ofAll}, &Globals{NoColor: true}}}
				status = s.report(usageError(err))
			}
			got := Main(args, Environment{Out: &ofOne, Err: &ofOne})
			if got != status || ofOne.String() != ofAll.String() {
				t.Errorf("%q: status %d, and\n%s\nin place of %d, and\n%s", args, got, ui.Clean(ofOne.String()), status, ui.Clean(ofAll.String()))
			}
		}
	}
	if n := len(names(newParser(&grammar{}, []string{"apply"}, Environment{}, nil).Model.Node)); n != 1 {
		t.Errorf("the parser of apply knows %d commands", n)
	}
}
