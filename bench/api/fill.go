package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tenetcm/tenet/runtime/control"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/store"
	"github.com/tenetcm/tenet/states"
)

// addHosts enrols hosts, with what is wanted of them and how they stand: one of a hundred has failed, one of two hundred has drifted, one of fifty was mended.
func (w *world) addHosts(ctx context.Context) error {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	return w.inPieces(ctx, w.hosts, func(tx store.Tx, i int) error {
		key, err := trust.GenerateKey()
		if err != nil {
			return err
		}
		certificate, err := trust.Sign(trust.KindHostKeys, &trust.HostKeys{Identity: key.Public(), Connection: fmt.Sprint("U", i), Sealing: "age1", Number: 1}, key)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT INTO enroll_hosts (id, name, labels, state, reason, keys, token, source, asked_at, decided_at, decided_by, renewed_at, value, former, any_value, copied_at, copied, question, successor, version)
			VALUES ($1, $2, $3, 'active', '', $4, 't', '192.0.2.1', $5, $5, 'admin', $5, $6, $6, 0, NULL, 0, 0, '', $7)`, string(key.ID()), hostName(i), text(labelsOf(i)), data(certificate), now, []byte{1}, int64(i+1)); err != nil {
			return err
		}
		held := map[string]control.Holding{}
		for _, site := range sitesOf(i) {
			at := trust.Position{Epoch: 1, N: uint64(i + 1)}
			held[site] = control.Holding{Position: at, Revision: "7"}
			if err := w.addSite(tx, key.ID(), i, site, at, now, encoder); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`INSERT INTO sessions_hosts (host, boot, held, accepted, streams, spoken) VALUES ($1, 'b', $2, $3, $4, 1)`, string(key.ID()), data(held), []byte("{}"), []byte("[]"))
		return err
	})
}

// addSite has a site wanted of a host, which stands somehow.
func (w *world) addSite(tx store.Tx, id trust.ID, i int, site string, at trust.Position, now time.Time, encoder *zstd.Encoder) error {
	a := &trust.Assignment{Format: trust.AssignmentFormat, Host: id, Site: site, Revision: "7", Position: at, Identity: trust.DigestOf([]byte(site)), Absent: true, Until: now.Add(1000 * time.Hour)}
	signed, err := w.authority.SignAssignment(a)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`INSERT INTO sessions_targets (host, site, epoch, n, revision, identity, absent, signed, since) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)`,
		string(id), site, int64(at.Epoch), int64(at.N), a.Revision, a.Identity.String(), data(signed), now); err != nil {
		return err
	}
	l := control.Loop{Site: site, Position: at, Revision: "7", Phase: control.PhaseWaiting, Condition: control.ConditionConverged}
	switch {
	case i%100 == 0:
		l.Phase, l.Condition, l.Reason = control.PhaseHelp, control.ConditionFailed, "file.conf: no space left on device"
	case i%200 == 1:
		l.Condition, l.Reason = control.ConditionDrifted, "2 parts differ"
	}
	if _, err := tx.Exec(`INSERT INTO sessions_loops (host, site, loop, since) VALUES ($1, $2, $3, $4)`, string(id), site, data(l), now); err != nil {
		return err
	}
	report := states.Report{Host: hostName(i), Run: fmt.Sprintf("%08d-%s", w.runs/w.hosts, site), Revision: "sha256:1", Ready: i%100 != 0}
	for n := range 20 {
		report.Parts = append(report.Parts, states.PartReport{Address: fmt.Sprintf(`file["/etc/f%d"]`, n), Type: "file", Key: fmt.Sprintf("/etc/f%d", n), Target: states.Present, State: states.PartPresent, Timestamp: now})
	}
	var mended *time.Time
	if i%50 == 3 {
		mended = &now
	}
	_, err = tx.Exec(`INSERT INTO sessions_reports (host, site, run, revision, ready, at, report, changed, mended, state_run) VALUES ($1, $2, $3, '7', $4, $5, $6, $5, $7, 'sha256:1')`,
		string(id), site, report.Run, report.Ready, now, encoder.EncodeAll(data(report), nil), mended)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO deploy_targets (site, host, tree, body) VALUES ($1, $2, 't', $3)`, site, string(id), []byte(fmt.Sprintf(`{"epoch":1,"n":%d,"Identity":%q,"Absent":false,"revision":1,"former":1}`, at.N, a.Identity)))
	return err
}

// addRuns writes the runs of the last thirty days: one of fifty has failed, a few go on.
func (w *world) addRuns(ctx context.Context) error {
	list, err := ids(ctx, w.store)
	if err != nil {
		return err
	}
	begin := time.Now().Add(-30 * 24 * time.Hour).UTC()
	step := 30 * 24 * time.Hour / time.Duration(w.runs)
	return w.inPieces(ctx, w.runs, func(tx store.Tx, i int) error {
		k := i * 7919 % len(list) // hosts in no order
		started := begin.Add(time.Duration(i) * step)
		var ended *time.Time
		if i < w.runs-20 {
			ended = new(started.Add(20 * time.Second))
		}
		isFailed := ended != nil && i%50 == 0
		failure := ""
		if isFailed {
			failure = "file.conf: no space left on device"
		}
		site := sitesOf(k)[i/len(list)%len(sitesOf(k))]
		counts := data(&states.Counts{Changed: i % 3, Unchanged: 20})
		_, err := tx.Exec(`INSERT INTO sessions_runs (host, run, site, revision, started, ended, failed, counts, error, told) VALUES ($1, $2, $3, '7', $4, $5, $6, $7, $8, $4)`,
			string(list[k]), fmt.Sprintf("%08d-%s", i/len(list)+1, site), site, started, ended, isFailed, counts, failure)
		return err
	})
}

// addLines gives one run of the first host many events.
func (w *world) addLines(ctx context.Context) error {
	list, err := ids(ctx, w.store)
	if err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	const each = 1000
	return w.inPieces(ctx, w.lines/each, func(tx store.Tx, i int) error {
		var lines bytes.Buffer
		for n := range each {
			fmt.Fprintf(&lines, `{"seq":%d,"type":"part","address":"file[\"/etc/f%d\"]","outcome":"changed","output":%q}`+"\n", i*each+n+1, n, strings.Repeat("word ", 20))
		}
		_, err := tx.Exec(`INSERT INTO sessions_events (host, run, part, at, events, first, lines) VALUES ($1, '00000001-shop', $2, $3, $4, $5, $6)`,
			string(list[0]), int64(i), time.Now(), encoder.EncodeAll(lines.Bytes(), nil), int64(i*each), int64(each))
		return err
	})
}

func data(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

func text(v any) string { return string(data(v)) }
