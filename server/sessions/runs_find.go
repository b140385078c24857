package sessions

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// RunsMigration makes the indexes by which runs of all hosts are listed, and has reports say when something was changed. It came after other tables of a
// server, and stands behind them.
func RunsMigration() store.Migration {
	return store.Migration{Name: "runs of all hosts", SQL: runIndexes}
}

// runIndexes have all that says whether a run is listed. Runs that have failed, and those that go on, are few. In reports changed and mended are
// times, as far as they are known.
const runIndexes = `
CREATE INDEX sessions_runs_newest ON sessions_runs (started, host, run, site);
CREATE INDEX sessions_runs_host ON sessions_runs (host, started, run, site);
CREATE INDEX sessions_runs_site ON sessions_runs (site, started, host, run);
CREATE INDEX sessions_failed_newest ON sessions_runs (started, host, run, site) WHERE failed = 1;
CREATE INDEX sessions_failed_host ON sessions_runs (host, started, run, site) WHERE failed = 1;
CREATE INDEX sessions_failed_site ON sessions_runs (site, started, host, run) WHERE failed = 1;
CREATE INDEX sessions_going_newest ON sessions_runs (started, host, run, site) WHERE ended IS NULL;
CREATE INDEX sessions_going_host ON sessions_runs (host, started, run, site) WHERE ended IS NULL;
CREATE INDEX sessions_going_site ON sessions_runs (site, started, host, run) WHERE ended IS NULL;
ALTER TABLE sessions_reports ADD COLUMN changed BIGINT;
ALTER TABLE sessions_reports ADD COLUMN mended BIGINT;
`

// DriftMigration has reports say what was wanted, so that drift that was mended is told from what is new.
func DriftMigration() store.Migration {
	return store.Migration{Name: "what reports are of", SQL: `ALTER TABLE sessions_reports ADD COLUMN state_run TEXT NOT NULL DEFAULT '';`}
}

// StartedMigration drops the index of runs by when they began: another one begins with that, and each run that is told of wrote both.
func StartedMigration() store.Migration {
	return store.Migration{Name: "one index of runs by time", SQL: `DROP INDEX sessions_runs_started;`}
}

// foundRun is a run as an index has it.
type foundRun struct {
	RunPosition
	site string
}

// runSource gives the runs of one host, of one site, or of all, the newest first and a few at a time.
type runSource struct {
	filter *RunFilter
	host   trust.ID // empty: any
	site   string   // empty: any
	ahead  []foundRun
	chunk  int
	isOver bool // there is nothing behind those that were read
}

// The numbers of rows that a source reads at once: of one that is merged with many others few are needed.
const (
	firstChunk = 1
	mostChunk  = 256
)

// fill has the source know its next run, if there is one.
func (s *runSource) fill(r store.Reader, after *RunPosition) error {
	if len(s.ahead) > 0 || s.isOver {
		return nil
	}
	s.chunk = min(cmp.Or(s.chunk*4, firstChunk), mostChunk)
	sql, args := s.query(after)
	err := r.Query(sql, args, func(row store.Row) error {
		one, err := scanRun(row)
		s.ahead = append(s.ahead, one)
		return err
	})
	s.isOver = len(s.ahead) < s.chunk
	return err
}

// scanRun reads a row of an index. There may be many, so that they are taken as they are.
func scanRun(row store.Row) (one foundRun, err error) {
	started, isTime := row[0].(int64)
	host, isHost := row[1].(string)
	run, isRun := row[2].(string)
	site, isSite := row[3].(string)
	if !isTime || !isHost || !isRun || !isSite {
		return one, fmt.Errorf("a row of runs is damaged: %v", row)
	}
	return foundRun{RunPosition{time.UnixMicro(started).UTC(), trust.ID(host), run}, site}, nil
}

// needsRow tells whether an index alone does not say which runs have the outcome.
func (f *RunFilter) needsRow() bool {
	return f.Outcome == OutcomeChanged || f.Outcome == OutcomeUnchanged
}

// query is for the next rows. Each form of it has an index that gives them in this order.
func (s *runSource) query(after *RunPosition) (sql string, args []any) {
	args = []any{int64(s.chunk)}
	where := []string{}
	place := func(v any) string {
		args = append(args, v)
		return "$" + string(rune('0'+len(args)))
	}
	if s.host != "" {
		where = append(where, "host = "+place(string(s.host)))
	}
	if s.site != "" {
		where = append(where, "site = "+place(s.site))
	}
	switch s.filter.Outcome {
	case OutcomeFailed:
		where = append(where, "failed = 1")
	case OutcomeRunning:
		where = append(where, "ended IS NULL")
	}
	order := ` ORDER BY started DESC, host DESC, run DESC LIMIT $1`
	if after != nil {
		where = append(where, s.behind(after, place))
	}
	if s.host != "" {
		order = ` ORDER BY started DESC, run DESC LIMIT $1`
	}
	sql = `SELECT started, host, run, site FROM sessions_runs`
	if len(where) > 0 {
		sql += ` WHERE ` + strings.Join(where, " AND ")
	}
	return sql + order, args
}

// behind says which rows of the source come after a position. Of the runs that began at the same time, those of a host come before it or after it as its
// id does.
func (s *runSource) behind(p *RunPosition, place func(any) string) string {
	if s.host == "" {
		return "(started, host, run) < (" + place(p.Started) + ", " + place(string(p.Host)) + ", " + place(p.Run) + ")"
	}
	switch strings.Compare(string(s.host), string(p.Host)) {
	case -1:
		return "started <= " + place(p.Started)
	case 1:
		return "started < " + place(p.Started)
	}
	return "(started, run) < (" + place(p.Started) + ", " + place(p.Run) + ")"
}

// fits tells whether a run is listed, as far as an index says.
func (f *RunFilter) fits(one *foundRun) bool {
	return (f.Sites == nil || slices.Contains(f.Sites, one.site)) && (f.Fits == nil || f.Fits(one.Host, one.site))
}

// runHeap has sources by their next run, the newest first. None of them is over.
type runHeap []*runSource

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].ahead[0].compare(&h[j].ahead[0].RunPosition) > 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a source.
func (h *runHeap) Push(s any) { *h = append(*h, s.(*runSource)) }

// Pop takes the last source out.
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// costOfRow is what it counts to read a run, as runs that are looked at by an index.
const costOfRow = 10

// find gives the runs that fit, and where to look further; nil: nowhere.
func (f *RunFilter) find(r store.Reader) (list []*RunRecord, next *RunPosition, err error) {
	begin := f.After
	if !f.Before.IsZero() {
		if before := (&RunPosition{Started: f.Before}); begin == nil || before.compare(begin) < 0 {
			begin = before
		}
	}
	var sources runHeap
	for _, s := range f.sources() {
		if err := s.fill(r, begin); err != nil {
			return nil, nil, err
		}
		if len(s.ahead) > 0 {
			sources = append(sources, s)
		}
	}
	heap.Init(&sources)
	for looked := 0; len(sources) > 0; looked++ {
		s := sources[0]
		one := s.ahead[0]
		if len(list) == f.Limit || looked >= f.Look {
			return list, next, nil
		}
		next = &one.RunPosition
		if s.ahead = s.ahead[1:]; f.fits(&one) {
			run, err := readRun(r, one.Host, one.Run)
			if err != nil {
				return nil, nil, err
			}
			if run != nil && (!f.needsRow() || run.Outcome() == f.Outcome) {
				list = append(list, run)
			} else {
				looked += costOfRow - 1
			}
		}
		if err := s.fill(r, next); err != nil {
			return nil, nil, err
		}
		if len(s.ahead) == 0 {
			heap.Pop(&sources)
		} else {
			heap.Fix(&sources, 0)
		}
	}
	return list, nil, nil
}

// sources are those of the hosts if they are named, else of the sites, else of all.
func (f *RunFilter) sources() (list []*runSource) {
	for _, h := range f.Hosts {
		list = append(list, &runSource{filter: f, host: h})
	}
	if f.Hosts != nil {
		return list
	}
	for _, site := range f.Sites {
		list = append(list, &runSource{filter: f, site: site, chunk: mostChunk / 4})
	}
	if f.Sites == nil {
		list = append(list, &runSource{filter: f, chunk: mostChunk / 4})
	}
	return list
}
