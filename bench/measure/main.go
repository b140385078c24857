// Command measure times whole processes: tenet, a limit program, and other
// tools where they are installed, in turns, and writes the medians as a table
// into bench/README.md. bench/run builds the programs and starts it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenetcm/tenet/bench/readme"
)

func main() {
	var l lab
	flag.StringVar(&l.tenet, "tenet", "", "the program to measure")
	flag.StringVar(&l.limit, "limit", "", "the limit program")
	flag.IntVar(&l.rounds, "rounds", 5, "how often each program is run for a case")
	flag.StringVar(&l.readme, "readme", "", "the file that gets the table; empty: print it")
	flag.StringVar(&l.only, "case", "", "measure only the case of this name")
	flag.StringVar(&l.dir, "dir", "", "work below this directory, on the disk to be measured; empty: the temporary one")
	flag.Parse()
	if err := l.run(); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// lab is one run of all measurements.
type lab struct {
	tenet, limit, readme, only, dir string
	rounds                          int

	cfengine, ansible string // where they are installed
	hosts             *fleet // booted for the cases that need them
}

func (l *lab) run() (err error) {
	if l.tenet == "" || l.limit == "" {
		return errors.New("-tenet and -limit are required: use bench/run")
	}
	// Programs are started in other directories.
	if l.tenet, err = filepath.Abs(l.tenet); err != nil {
		return err
	}
	if l.limit, err = filepath.Abs(l.limit); err != nil {
		return err
	}
	l.cfengine, _ = exec.LookPath("cf-agent")
	l.ansible, _ = exec.LookPath("ansible-playbook")
	if l.dir, err = os.MkdirTemp(l.dir, "tenet-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.powerOff(), os.RemoveAll(l.dir)) }()
	var rows []row
	for _, c := range l.cases() {
		if l.only != "" && c.name != l.only {
			continue
		}
		if c.asRoot && l.only == "" && os.Geteuid() != 0 {
			fmt.Fprintf(os.Stderr, "%s: left out: hosts are booted as root\n", c.name)
			continue
		}
		r, err := l.measure(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, r)
		fmt.Fprintln(os.Stderr, r)
	}
	if l.readme == "" {
		fmt.Print(table(rows))
		return nil
	}
	return readme.Write(l.readme, "measured", table(rows))
}

// row is what was measured of a case.
type row struct {
	c     bcase
	times map[string]time.Duration // by program: the median
	peak  int64                    // of tenet, in bytes: the highest
}

// measure runs the programs of a case in turns, so that a change of the
// machine's mood meets all of them.
func (l *lab) measure(c bcase) (row, error) {
	dir := filepath.Join(l.dir, c.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return row{}, err
	}
	spread(dir)
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
		return row{}, err
	}
	programs, err := c.prepare(dir)
	if err != nil {
		return row{}, err
	}
	unix.Sync() // what a case before has written is not to be written during this one
	samples := map[string][]time.Duration{}
	r := row{c: c, times: map[string]time.Duration{}}
	for round := range l.rounds + 1 { // the first one warms the caches
		for _, p := range programs {
			if p.runsOnce && round > 0 {
				continue
			}
			if p.prepare != nil {
				if err := p.prepare(); err != nil {
					return row{}, err
				}
			}
			spent, peak, err := measure(dir, p.argv)
			if err != nil {
				return row{}, err
			}
			if p.check != nil {
				if err := p.check(); err != nil {
					return row{}, fmt.Errorf("%s has not done its work: %w", p.name, err)
				}
			}
			if round == 0 && !p.runsOnce {
				continue
			}
			samples[p.name] = append(samples[p.name], spent)
			if p.name == "tenet" {
				r.peak = max(r.peak, peak)
			}
		}
	}
	for name, s := range samples {
		r.times[name] = median(s)
	}
	return r, nil
}

func (r row) String() string { return fmt.Sprintf("%s: %v", r.c.name, r.times) }
