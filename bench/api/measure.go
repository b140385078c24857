package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// figure is what was measured of one operation for one person.
type figure struct {
	path, person string
	median, most time.Duration
	// processor is the median of the time of processors that it takes, which other work of the machine does not change.
	processor time.Duration
}

// limit is how long an operation may take.
const limit = 150 * time.Millisecond

// paths are what pages ask for.
func (w *world) paths() []string {
	last := hostName(13) // which all may read
	return []string{
		"/v1/status", "/v1/status?labels=true", "/v1/status?select=role%3Ddb&site=shop",
		"/v1/hosts", "/v1/hosts?count=true", "/v1/hosts?words=host-0001+shop&count=true", "/v1/hosts?words=no+space+left&count=true", "/v1/hosts?drift=drifted,mended&count=true",
		"/v1/hosts?phase=help&site=shop", "/v1/hosts?select=role%3Dweb,!host-00*&readiness=not-ready&count=true", "/v1/hosts?words=nothing+like+this&count=true",
		"/v1/runs", "/v1/runs?outcome=failed", "/v1/runs?outcome=running", "/v1/runs?outcome=changed&site=shop", "/v1/runs?site=base&outcome=failed", "/v1/runs?select=role%3Ddb,!host-001*",
		"/v1/runs?host=" + last, "/v1/hosts/" + last + "/runs", "/v1/hosts/" + last, "/v1/hosts/" + last + "/status", "/v1/hosts/" + last + "/reports/shop",
		"/v1/hosts/" + hostName(0) + "/runs/00000001-shop", "/v1/hosts/" + hostName(0) + "/runs/00000001-shop/lines?after=700000", "/v1/hosts/" + hostName(0) + "/runs/00000001-shop/lines?after=100&contains=nothing+like+this",
		"/v1/deployments", "/v1/deployments?phase=planned,rolling,paused", "/v1/deployments/40?members=none", "/v1/deployments/40/members", "/v1/deployments/40/members?state=ready", "/v1/deployments/31?members=none",
		"/v1/sites?hosts=none", "/v1/sites/shop/revisions?hosts=none", "/v1/sites/shop/revisions/2?hosts=none", "/v1/sites/shop/revisions/2", "/v1/sites/shop/revisions/2/files", "/v1/sites/shop/revisions/2/files?against=1", "/v1/sites/shop/rollback?to=1&hosts=host-0001*",
		"/v1/people/PERSON/may",
	}
}

// measure times each path for each person.
func (w *world) measure(ctx context.Context, rounds int, only string) (list []figure, err error) {
	for _, person := range []string{"admin", "tenth", "few"} {
		l, err := w.people.LogIn(ctx, person, password, "bench")
		if err != nil {
			return nil, err
		}
		for _, path := range w.paths() {
			if !strings.Contains(path, only) {
				continue
			}
			f := figure{path: path, person: person}
			var times, busy []time.Duration
			for range rounds {
				r := httptest.NewRequest(http.MethodGet, strings.ReplaceAll(path, "PERSON", person), nil)
				r.Header.Set("Authorization", "Bearer "+l.Secret)
				answer := httptest.NewRecorder()
				begin, used := time.Now(), processorTime()
				w.api.Handler().ServeHTTP(answer, r)
				times, busy = append(times, time.Since(begin)), append(busy, processorTime()-used)
				if answer.Code != http.StatusOK && answer.Code != http.StatusNotFound && answer.Code != http.StatusForbidden {
					return nil, fmt.Errorf("%s for %s: %d %.300s %v", path, person, answer.Code, answer.Body, w.faults)
				}
			}
			slices.Sort(times)
			slices.Sort(busy)
			f.median, f.most, f.processor = times[len(times)/2], times[len(times)-1], busy[len(busy)/2]
			fmt.Fprintf(os.Stderr, "%-6s %8.1f ms %8.1f ms %8.1f ms  %s\n", person, ms(f.median), ms(f.processor), ms(f.most), path)
			list = append(list, f)
		}
	}
	return list, nil
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// table is what was measured as Markdown: by path, with each person's median and the longest of all.
func table(size sizes, list []figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d hosts, %d runs and a run of %d lines, measured on %s UTC with %d CPUs, which had a load of %s meanwhile: medians in ms, in parentheses of the processor's time. Wanted are medians below %d ms.\n\n",
		size.hosts, size.runs, size.lines, time.Now().UTC().Format(time.DateTime), runtime.NumCPU(), load(), limit.Milliseconds())
	b.WriteString("| operation | administrator | a tenth of the hosts, one site | 10 hosts | |\n|---|---|---|---|---|\n")
	var order []string
	by := map[string][]figure{}
	for _, f := range list {
		if by[f.path] == nil {
			order = append(order, f.path)
		}
		by[f.path] = append(by[f.path], f)
	}
	for _, path := range order {
		verdict := "met"
		fmt.Fprintf(&b, "| `%s` |", path)
		for _, f := range by[path] {
			fmt.Fprintf(&b, " %.1f (%.1f) |", ms(f.median), ms(f.processor))
			switch {
			case f.processor >= limit:
				verdict = "**not met**"
			case f.median >= limit && verdict == "met":
				verdict = "met by the processor's time"
			}
		}
		fmt.Fprintf(&b, " %s |\n", verdict)
	}
	return b.String()
}

// load is that of the machine in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
