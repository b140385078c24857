package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenetcm/tenet/internal/testcase"
	"github.com/tenetcm/tenet/internal/ui"
	"github.com/tenetcm/tenet/lang/diag"
)

// shownTests shows results as they come.
type shownTests struct {
	*client
	site     string
	dir      string
	source   func(string) ([]byte, bool)
	hasTitle bool
	last     string // diagnostics shown last
	err      error
}

func (t *shownTests) line(text string) {
	if t.err == nil {
		_, t.err = fmt.Fprintln(t.Out, text)
	}
}

func (t *shownTests) title() {
	if !t.hasTitle {
		t.line(ui.Clean(t.site))
		t.hasTitle = true
	}
}

// mistakes shows what is wrong with the files of cases.
func (t *shownTests) mistakes(list diag.List) {
	if len(list) == 0 {
		return
	}
	if err := t.show(list, t.source); err != nil && !list.HasErrors() {
		t.err = err
	}
}

// mark stands before a case.
func (t *shownTests) mark(good bool) string {
	if good {
		return ui.Green("✓", t.color(t.Out))
	}
	return ui.Red("✗", t.color(t.Out))
}

func (t *shownTests) result(r testcase.Result) {
	if t.globals.JSON {
		return
	}
	name := ui.Clean(r.Case.Name)
	switch {
	case r.Outcome == testcase.Failed:
		t.title()
		t.line("  " + t.mark(false) + " " + name)
		t.details(r.Text(t.dir))
	case r.Outcome == testcase.Invalid:
		t.title()
		t.line("  " + t.mark(false) + " " + name + "  cannot be tested")
		t.details(t.diagnostics(r.Diagnostics))
	case !t.globals.Quiet:
		t.title()
		t.line("  " + t.mark(true) + " " + name)
		if t.globals.Verbose && r.Case.Description != "" {
			t.details(r.Case.Description)
		}
		t.details(t.diagnostics(r.Diagnostics))
	}
	for _, note := range r.Notes {
		if !t.globals.Quiet {
			t.line("    " + ui.Clean(note))
		}
	}
	for _, file := range r.Updated {
		t.line("    rewrote " + ui.Clean(filepath.Join(t.dir, file)))
	}
}

// diagnostics writes mistakes and warnings, but the same ones only once.
func (t *shownTests) diagnostics(list diag.List) string {
	if len(list) == 0 {
		return ""
	}
	var out bytes.Buffer
	if err := diag.Write(&out, list, diag.WriteOptions{Source: t.source}); err != nil {
		t.err = err
	}
	text := out.String()
	if text == t.last {
		return "as above\n"
	}
	t.last = text
	return text
}

func (t *shownTests) details(text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		t.line(strings.TrimRight("      "+ui.Clean(line), " "))
	}
}
