package ui

import (
	"slices"
	"strings"

	"github.com/tenetcm/tenet/states"
)

// doubts are rows that are maybe for one part, in the end.
type doubts struct {
	cause string
	how   string // what is not known of it; empty: that is not said
	rows  []states.Event
}

// hangs reports whether a row is a maybe for another part.
func hangs(ev *states.Event) bool {
	return isMaybe(ev) && ev.Cause != "" && ev.Cause != ev.Address
}

// howOf gives, of a piece of the reason of a maybe that names a part before it, what is not known
// of that part; empty: it names none.
func howOf(piece string) string {
	piece = strings.TrimSuffix(piece, ", may come before it")
	for _, how := range []string{"whose effects cannot be foreseen", "which is not certain", "which changes the host"} {
		if strings.HasSuffix(piece, ", "+how) {
			return how
		}
	}
	return ""
}

// hold keeps a row for the end, where it stands below its cause.
func (t *text) hold(ev *states.Event) {
	d := t.doubtsOf(ev.Cause)
	d.rows = append(d.rows, *ev)
}

// doubtsOf gives what hangs on a part.
func (t *text) doubtsOf(cause string) *doubts {
	i := slices.IndexFunc(t.doubts, func(d *doubts) bool { return d.cause == cause })
	if i < 0 {
		i, t.doubts = len(t.doubts), append(t.doubts, &doubts{cause: cause})
	}
	return t.doubts[i]
}

// noteHow remembers what is not known of a part for which rows are maybe, whether these are
// shown or not.
func (t *text) noteHow(ev *states.Event) {
	if !hangs(ev) {
		return
	}
	d := t.doubtsOf(ev.Cause)
	for piece := range strings.SplitSeq(ev.Reason, "; ") {
		if d.how == "" && strings.Contains(piece, ev.Cause+", ") {
			d.how = howOf(piece)
		}
	}
}

// showDoubts shows the rows that were kept, below the part for which they are maybe.
func (t *text) showDoubts() {
	isAssured := false
	for _, d := range t.doubts {
		if len(d.rows) == 0 {
			continue
		}
		t.print(t.yellow("maybe"), " because of ", t.bold(Line(d.cause)))
		if d.how != "" {
			t.print(", ", d.how)
		}
		t.print(":\n")
		start := len(t.buf)
		for i := range d.rows {
			t.showPart(&d.rows[i])
			isAssured = isAssured || d.rows[i].Assured
		}
		rows := string(t.buf[start:])
		t.buf = append(t.buf[:start], indent(rows, "  ")...)
	}
	if isAssured {
		t.print(t.dim("("+Assured+": "+AssuredNote+")"), "\n")
	}
	t.doubts = nil
}

// How far a plan is certain of a row that hangs on another part.
const (
	Assured = "will be so in any case"
	Open    = "open"
	// AssuredNote explains Assured.
	AssuredNote = "open is whether that changes something"
)

// doubt says in words how far a plan is certain of a row that hangs on another part. Why is what
// else its reason says than which parts come before it; with -v, all of it.
func (t *text) doubt(ev *states.Event) (words, why string) {
	words = Open
	if ev.Assured {
		words = Assured
	}
	switch {
	case t.options.Verbose:
		why = ev.Reason
	case !ev.Assured:
		pieces := slices.DeleteFunc(strings.Split(ev.Reason, "; "), func(piece string) bool { return howOf(piece) != "" })
		why = strings.Join(pieces, "; ")
	}
	return words, why
}

// countHeld counts what is shown at the end.
func (t *text) countHeld() int {
	n := len(t.orphans)
	for _, d := range t.doubts {
		n += len(d.rows)
	}
	return n
}
