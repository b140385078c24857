package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
)

// batchContent is what a batch of a host tells.
type batchContent struct {
	compressor *compressor
	known      *host
	host       trust.ID
	stream     string
	batch      *control.Batch
	at         time.Time
	items      []*control.Item
	loops      map[string]*Loop // the newest by site
	facts      *control.FactsReport
	signed     *trust.Signed
	reports    map[string]*ReportStatus // the newest by site
	events     map[string]*bytes.Buffer // by run
	update     *control.Update          // the newest
	told       []*Told                  // for the stream of all hosts
	names      map[string]bool          // of sites, that were not known of the host
}

// parseItems reads the items of a batch. One that makes no sense is left out, and told: the host's next ones must not wait for it.
func (s *Sessions) parseItems(ctx context.Context, h *host, b *control.Batch) (*batchContent, error) {
	t := &batchContent{compressor: &s.compressor, known: h, host: h.core.ID, stream: b.Stream, batch: b, at: s.Clock(), loops: map[string]*Loop{}, reports: map[string]*ReportStatus{}, events: map[string]*bytes.Buffer{}, names: map[string]bool{}}
	for i, data := range b.Items {
		item, err := control.ParseItem(data)
		if err == nil {
			err = t.add(ctx, s, item)
		}
		if err != nil {
			s.complain(t.host, fmt.Errorf("item %d of the host %s: %w", b.First+uint64(i), t.host.Short(), err))
			continue
		}
		t.items = append(t.items, item)
		told, err := toldOf(t.host, t.stream, b.First+uint64(i), item)
		if err != nil {
			return nil, err
		}
		if told != nil {
			t.told = append(t.told, told)
		}
	}
	return t, nil
}

// Limits of what a host tells, beside those of the protocol.
const (
	maxName    = 200
	maxMessage = 4000
)

// areNames tells whether texts can be names: no store keeps a NUL.
func areNames(list ...string) bool {
	return !slices.ContainsFunc(list, func(text string) bool { return len(text) > maxName || strings.ContainsRune(text, 0) })
}

func (t *batchContent) add(ctx context.Context, s *Sessions, i *control.Item) error {
	switch {
	case i.Loop != nil:
		if !t.mayName(i.Loop.Site) {
			return fmt.Errorf("it names no site that is known of the host")
		}
		i.Loop.Reason = bound(i.Loop.Reason)
		t.loops[i.Loop.Site] = &Loop{Loop: *i.Loop, Since: i.At}
	case i.Run != nil:
		if i.Run.Run == "" || !areNames(i.Run.Run, i.Run.Revision) || !t.mayName(i.Run.Site) {
			return fmt.Errorf("it names no run")
		}
		i.Run.Error = bound(i.Run.Error)
		t.addReport(i.Run)
	case i.Event != nil:
		if i.Event.Run == "" || !areNames(i.Event.Run, i.Event.Site) {
			return fmt.Errorf("it names no run")
		}
		lines := t.events[i.Event.Run]
		if lines == nil {
			lines = &bytes.Buffer{}
			t.events[i.Event.Run] = lines
		}
		if err := json.Compact(lines, i.Event.Event); err != nil {
			return err
		}
		lines.WriteByte('\n')
	case i.Update != nil:
		if !areNames(i.Update.Version, string(i.Update.Phase)) {
			return fmt.Errorf("it names no update")
		}
		i.Update.Reason = bound(i.Update.Reason)
		t.update = i.Update
	case i.Outputs != nil:
		return t.checkOutputs(ctx, s, i.Outputs)
	case i.Facts != nil:
		return t.addFacts(ctx, s, i.Facts)
	}
	return nil
}

// addReport notes what the report of a run comes to, if it has one.
func (t *batchContent) addReport(r *control.Run) {
	if r.Report == nil {
		return
	}
	before := t.reports[r.Site]
	if before == nil {
		before = t.known.reports[r.Site]
	}
	t.reports[r.Site] = before.after(r)
}

// addFacts takes facts that the host itself has signed.
func (t *batchContent) addFacts(ctx context.Context, s *Sessions, f *control.Facts) error {
	key, err := s.Hosts.Identity(ctx, t.host)
	if err != nil {
		return err
	}
	if f.Signed == nil {
		return fmt.Errorf("its facts are signed by nobody")
	}
	r, err := trust.Open[control.FactsReport](f.Signed, trust.KindReport, key)
	if err != nil {
		return err
	}
	if r.Host != t.host {
		return fmt.Errorf("its facts are those of the host %s", r.Host.Short())
	}
	if t.facts == nil || r.Number > t.facts.Number {
		t.facts, t.signed = r, f.Signed
	}
	return nil
}

// bound shortens a text for people, and takes out what no store keeps.
func bound(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if len(text) <= maxMessage {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:maxMessage]), nil)) + " …"
}

// save writes it.
func (t *batchContent) save(tx store.Tx) error {
	if err := t.saveStream(tx); err != nil {
		return err
	}
	if t.batch.Gap {
		_, err := tx.Exec(`INSERT INTO sessions_gaps (host, stream, first, last, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (host, stream, first) DO UPDATE SET last = excluded.last`,
			string(t.host), t.stream, int64(t.batch.First), int64(t.batch.Last), t.at)
		return err
	}
	for site, l := range t.loops {
		data, err := json.Marshal(l.Loop)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO sessions_loops (host, site, loop, since) VALUES ($1, $2, $3, $4) ON CONFLICT (host, site) DO UPDATE SET loop = excluded.loop, since = excluded.since`,
			string(t.host), site, data, l.Since); err != nil {
			return err
		}
	}
	for _, i := range t.items {
		if i.Run != nil {
			if err := t.saveRun(tx, i.Run); err != nil {
				return err
			}
		}
		if i.Outputs != nil {
			if err := t.saveOutputs(tx, i.Outputs); err != nil {
				return err
			}
		}
	}
	if t.update != nil {
		if err := saveUpdate(tx, t.host, t.update); err != nil {
			return err
		}
	}
	for run, lines := range t.events {
		if err := t.saveEvents(tx, run, lines.Bytes()); err != nil {
			return err
		}
	}
	if t.facts == nil {
		return nil
	}
	data, err := json.Marshal(t.signed)
	if err != nil {
		return err
	}
	// Older ones, as of a stream that is told again, do not take the place of newer ones.
	_, err = tx.Exec(`INSERT INTO sessions_facts (host, number, at, signed) VALUES ($1, $2, $3, $4)
		ON CONFLICT (host) DO UPDATE SET number = excluded.number, at = excluded.at, signed = excluded.signed WHERE excluded.number > sessions_facts.number`, string(t.host), int64(min(t.facts.Number, 1<<62)), t.at, data)
	return err
}

func (t *batchContent) saveRun(tx store.Tx, r *control.Run) error {
	var ended *time.Time
	if !r.Ended.IsZero() {
		ended = &r.Ended
	}
	counts, err := json.Marshal(r.Counts)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO sessions_runs (host, run, site, revision, started, ended, failed, counts, error, told) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (host, run) DO UPDATE SET ended = excluded.ended, failed = excluded.failed, counts = excluded.counts, error = excluded.error, told = excluded.told`,
		string(t.host), r.Run, r.Site, r.Revision, r.Started, ended, flag(r.Failed), counts, r.Error, t.at); err != nil {
		return err
	}
	if r.Report == nil || t.reports[r.Site].Run != r.Run { // a later one is among the items
		return nil
	}
	return t.saveReport(tx, r)
}

func (t *batchContent) saveReport(tx store.Tx, r *control.Run) error {
	report, err := t.compressor.pack(r.Report)
	if err != nil {
		return err
	}
	known := func(at time.Time) *time.Time {
		if at.IsZero() {
			return nil
		}
		return &at
	}
	st := t.reports[r.Site]
	_, err = tx.Exec(`INSERT INTO sessions_reports (host, site, run, revision, ready, at, report, changed, mended, state_run) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (host, site) DO UPDATE SET run = excluded.run, revision = excluded.revision, ready = excluded.ready, at = excluded.at, report = excluded.report,
			changed = excluded.changed, mended = excluded.mended, state_run = excluded.state_run`,
		string(t.host), r.Site, r.Run, r.Revision, flag(r.Report.Ready), r.Ended, report, known(st.Changed), known(st.Mended), st.stateRun)
	return err
}

// saveEvents adds to the events of a run, as another part of them.
func (t *batchContent) saveEvents(tx store.Tx, run string, lines []byte) error {
	last := linesRow{part: -1} // the first ones may be removed already
	if _, err := store.One(tx, `SELECT part, first, lines FROM sessions_events WHERE host = $1 AND run = $2 ORDER BY part DESC LIMIT 1`, []any{string(t.host), run}, &last.part, &last.first, &last.lines); err != nil {
		return err
	}
	first := last.first + last.lines
	if last.first < 0 { // a former version of the server has kept it: they are counted by whoever reads them
		first = -1
	}
	_, err := tx.Exec(`INSERT INTO sessions_events (host, run, part, at, events, first, lines) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		string(t.host), run, last.part+1, t.at, t.compressor.compress(lines), first, int64(bytes.Count(lines, []byte{'\n'})))
	return err
}

// remember takes up in memory what was committed.
func (t *batchContent) remember(h *host) {
	maps.Copy(h.reports, t.reports)
	maps.Copy(h.names, t.names)
	for site, l := range t.loops {
		h.loops[site] = l
	}
}

// compressor compresses what is kept. It may be used by many goroutines.
type compressor struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCompressor() (c compressor, err error) {
	if c.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true)); err != nil {
		return c, err
	}
	c.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	return c, err
}

func (c *compressor) compress(data []byte) []byte { return c.encoder.EncodeAll(data, nil) }

// expand adds what was compressed to other data.
func (c *compressor) expand(data, to []byte) ([]byte, error) { return c.decoder.DecodeAll(data, to) }

func (c *compressor) pack(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	return c.compress(data), err
}

func (c *compressor) unpack(data []byte, v any) error {
	plain, err := c.expand(data, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}
