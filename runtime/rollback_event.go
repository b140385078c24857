package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// event tells how a block was put back. Without an outcome it waits still: not
// everything could be.
func (u *undo) event(e *engine, why error, interrupted bool, stays []string) states.Event {
	text := fmt.Sprintf("not confirmed: restored %d paths", len(u.paths))
	if len(u.paths) == 1 {
		text = "not confirmed: restored 1 path"
	}
	f := &states.Failure{Code: "not_confirmed", Message: text, Source: e.recorder.source(u.block),
		Hint: "mend what keeps its check from passing, then apply again"}
	switch {
	case interrupted:
		f.Message += "; the run ended before its check had passed"
	case why != nil:
		f.Message += "; " + why.Error()
	}
	// Of a part whose path is put back, its program may have done something else as well.
	half := func(part string) bool { return u.parts[part] }
	if some := firstOf(slices.DeleteFunc(slices.Clone(stays), half)); some != "" {
		f.Message += "; not undone, since no file: " + some
	}
	stays = slices.DeleteFunc(slices.Clone(stays), func(part string) bool { return !half(part) })
	if some := firstOf(stays); some != "" {
		f.Message += "; undone as far as it is a file, but not what else its program did: " + some
	}
	if len(u.keptDirs) > 0 {
		f.Message += "; not removed, since not empty: " + strings.Join(u.keptDirs, ", ")
	}
	if len(u.skippedHandlers) > 0 {
		f.Message += "; not run again, since their secrets are not on record: " + strings.Join(u.skippedHandlers, ", ")
	}
	ev := states.Event{Outcome: states.Failed, Reason: text}
	if len(u.problems) > 0 {
		ev.Outcome = ""
		f.Message += "; " + firstOf(e.recorder.mask.lines(u.problems))
		f.Hint = "what was there is kept in " + u.backup.Dir() + "; the next apply tries again"
		if u.backup.Wrong() != nil {
			f.Hint = "what was there is kept in " + u.backup.Dir() + ", where index.jsonl names it: put it back by hand. It is kept until the block's check passes"
		}
	}
	f.Message = e.recorder.mask.text(f.Message)
	ev.Error = f
	return ev
}

// firstOf names the first parts of a list, and says how many more there are.
func firstOf(parts []string) string {
	text := strings.Join(parts[:min(len(parts), 10)], ", ")
	if more := len(parts) - 10; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// lines gives the text of each error as one line, without secrets.
func (m *masker) lines(errs []error) (texts []string) {
	for _, err := range errs {
		texts = append(texts, journal.Line(m.text(err.Error())))
	}
	return texts
}
