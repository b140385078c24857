package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/lang/diag"
)

// Record is what is kept of a source beside its State: what became of its revisions.
type Record struct {
	Address string `json:"address"`
	Report
	// Rejected is the newest revision, if it cannot be used: the report is that of the one that counts.
	Rejected *Report `json:"rejected,omitempty"`
	// Skipped are the last revisions that did not count before another one came, the newest last.
	Skipped []Skip `json:"skipped,omitempty"`
	// Schedule says when the source is looked at; nil: that is not known.
	Schedule *Options `json:"schedule,omitempty"`
}

// Skip is a revision that never counted.
type Skip struct {
	Revision Revision  `json:"revision"`
	At       time.Time `json:"at"` // when the other one was found
}

// maxSkipped is how many revisions are remembered that never counted.
const maxSkipped = 10

// AddSkipped notes a revision that never counted.
func (r *Record) AddSkipped(e Event) {
	r.Skipped = append(r.Skipped, Skip{e.Revision, e.Time})
	r.Skipped = r.Skipped[max(len(r.Skipped)-maxSkipped, 0):]
}

// Followed is how a source stands that something on a machine follows.
type Followed struct {
	Address  string  `json:"address"`
	Report   Report  `json:"report"` // of the revision that counts
	Signer   string  `json:"signer,omitempty"`
	Rejected *Report `json:"rejected,omitempty"`
	Skipped  []Skip  `json:"skipped,omitempty"`
	// Looked is when the source has answered last, and Away since when it does not, for the reason of AwayText.
	Looked   time.Time `json:"looked,omitzero"`
	Away     time.Time `json:"away,omitzero"`
	AwayText string    `json:"away_text,omitempty"`
	// Next is when it is looked at next, and Closed why it is not now.
	Next   time.Time `json:"next,omitzero"`
	Closed string    `json:"closed,omitempty"`
	// Late: it should have been looked at some time ago, and nobody has.
	Late bool `json:"late,omitempty"`
}

// Where followers of a machine have their folders, and what else there is.
const (
	sourcesName = "sources"
	recordName  = "report.json"
	maxRecord   = 4 << 20
	maxFollowed = 1000
	lateAfter   = 10 * time.Minute
)

// FolderIn is that of the follower of a source, below the state folder of a machine.
func FolderIn(stateDir, name string) string { return filepath.Join(stateDir, sourcesName, name) }

// ReadRecord reads what is kept in the folder of a follower; nil: nothing yet.
func ReadRecord(dir string) (*Record, error) {
	r := &Record{}
	found, err := readJSON(filepath.Join(dir, recordName), r)
	if !found {
		return nil, err
	}
	return r, nil
}

// Save keeps the record in the folder of a follower.
func (r *Record) Save(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, recordName), atomicfile.Options{}, atomicfile.Data(data))
}

// List tells of the sources that are followed on a machine, by address. What is damaged is left out, and is the error.
func List(stateDir string, now time.Time) (list []Followed, err error) {
	entries, err := os.ReadDir(filepath.Join(stateDir, sourcesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries[:min(len(entries), maxFollowed)] {
		if !e.IsDir() {
			continue
		}
		one, failed := readFollowed(FolderIn(stateDir, e.Name()), now)
		if err = errors.Join(err, failed); one != nil {
			list = append(list, *one)
		}
	}
	slices.SortFunc(list, func(a, b Followed) int { return strings.Compare(a.Address, b.Address) })
	return list, err
}

// Interrupt notes that nobody applies any more what is told to be installed: whoever did has died before it could tell. Nothing is kept of that.
func (f *Followed) Interrupt() {
	t := Tracker{Now: func() time.Time { return f.Report.Since }}
	t.Resume(f.Report)
	t.Each(func(c Component) Component {
		if c.Phase == Installing {
			return Component{Name: c.Name, Phase: Failed, Code: "interrupted", Message: "its apply was interrupted"}
		}
		return c
	})
	f.Report = t.Report()
}

// readFollowed reads how a source stands; nil: nothing is recorded of it.
func readFollowed(dir string, now time.Time) (*Followed, error) {
	r, err := ReadRecord(dir)
	if r == nil {
		return nil, err
	}
	var s State
	if _, err := readJSON(filepath.Join(dir, stateName), &s); err != nil {
		return nil, err
	}
	out := &Followed{Address: r.Address, Report: r.Report, Signer: s.Fetched.Signer, Rejected: r.Rejected, Skipped: r.Skipped, Looked: s.Looked, Away: s.Away, AwayText: s.AwayText, Next: s.Next}
	if r.Schedule != nil {
		out.Closed, _ = r.Schedule.Closed(now)
		out.Late = out.Closed == "" && !s.Next.IsZero() && now.Sub(r.Schedule.Due(s.Next, s.Next)) > lateAfter
		out.Next = r.Schedule.Due(s.Next, now)
	}
	if out.Report.Phase == "" {
		out.Report.Phase, out.Report.Reason = Pending, "nothing was found yet"
	}
	return out, nil
}

// readJSON reads a file of JSON, if there is one.
func readJSON(path string, v any) (found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = errors.New("it is too large")
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		hint := "remove " + filepath.Dir(path) + ": the source is followed anew"
		if filepath.Base(path) == recordName { // what counts is known without it, and with signers only what comes after that does
			hint = "remove " + path + ": what became of former revisions is forgotten"
		}
		return false, &diag.HintError{Err: fmt.Errorf("the record of what is followed, %s, is damaged: %w", path, err), Hint: hint}
	}
	return true, nil
}
