package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/bench"
)

// bcase is one thing that is measured, and what is wanted of it.
type bcase struct {
	name, text string
	// prepare writes the inputs into a directory, and names the programs.
	prepare func(dir string) ([]program, error)
	aims    []aim
	asRoot  bool // it boots hosts
}

// aim is one aim: text, and whether a row has reached it.
type aim struct {
	text  string
	needs string // the program that it compares with, if any
	isMet func(r row, all []row) bool
}

// maxFactor wants tenet to take at most factor times the time of another program.
func maxFactor(factor float64, other string) aim {
	return aim{
		text: fmt.Sprintf("≤ %g × %s", factor, other), needs: other,
		isMet: func(r row, _ []row) bool { return r.times["tenet"].Seconds() <= factor*r.times[other].Seconds() },
	}
}

// fasterThan wants another program to take at least factor times as long.
func fasterThan(factor float64, other string) aim {
	return aim{
		text: fmt.Sprintf("%s ≥ %g × tenet", other, factor), needs: other,
		isMet: func(r row, _ []row) bool { return r.times[other].Seconds() >= factor*r.times["tenet"].Seconds() },
	}
}

// maxSeconds wants tenet to take less than so many seconds.
func maxSeconds(seconds float64) aim {
	return aim{
		text:  fmt.Sprintf("≤ %g s", seconds),
		isMet: func(r row, _ []row) bool { return r.times["tenet"].Seconds() <= seconds },
	}
}

// withinTimes wants tenet to take at most factor times as long as in another case.
func withinTimes(factor float64, name string) aim {
	return aim{
		text: fmt.Sprintf("≤ %g × 10,000", factor),
		isMet: func(r row, all []row) bool {
			return slices.ContainsFunc(all, func(other row) bool {
				return other.c.name == name && r.times["tenet"].Seconds() <= factor*other.times["tenet"].Seconds()
			})
		},
	}
}

// aboveStart wants tenet to take at most so many seconds longer than for one file.
func aboveStart(seconds float64) aim {
	return aim{
		text: fmt.Sprintf("≤ 1 file + %g s", seconds),
		isMet: func(r row, all []row) bool {
			return slices.ContainsFunc(all, func(other row) bool {
				return other.c.name == "start" && r.times["tenet"].Seconds() <= other.times["tenet"].Seconds()+seconds
			})
		},
	}
}

// maxPeak wants tenet to hold less than so many MB.
func maxPeak(mb int64) aim {
	return aim{
		text:  fmt.Sprintf("peak < %d MB", mb),
		isMet: func(r row, _ []row) bool { return r.peak < mb*1_000_000 },
	}
}

func (l *lab) cases() []bcase { return slices.Concat(l.localCases(), l.blockCases(), l.sshCases()) }

func (l *lab) localCases() []bcase {
	return []bcase{
		{
			name: "cold-10000", text: "10,000 files, all to be made",
			prepare: func(dir string) ([]program, error) { return l.files(dir, 10_000, true) },
			aims:    []aim{fasterThan(3, "cfengine")},
		},
		{
			name: "converged-10000", text: "10,000 files, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.files(dir, 10_000, false) },
			aims:    []aim{maxFactor(5, "limit"), fasterThan(3, "cfengine"), maxPeak(120)},
		},
		{
			name: "converged-1000", text: "1,000 files, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.files(dir, 1_000, false) },
			aims:    []aim{maxFactor(5, "limit"), fasterThan(3, "cfengine")},
		},
		{
			name: "converged-100", text: "100 files, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.files(dir, 100, false) },
		},
		{
			name: "start", text: "1 file, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.files(dir, 1, false) },
			aims:    []aim{maxSeconds(0.012)},
		},
		{
			name: "packages", text: "30 packages of 3,000 installed, nothing to do",
			prepare: l.packages,
			aims:    []aim{aboveStart(0.050)},
		},
		{
			name: "tree-50000", text: "a tree of 50,000 files, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.tree(dir, 50_000, false) },
			aims:    []aim{maxFactor(2, "rsync")},
		},
		{
			name: "tree-cold-50000", text: "a tree of 50,000 files, all to be made",
			prepare: func(dir string) ([]program, error) { return l.tree(dir, 50_000, true) },
			aims:    []aim{maxFactor(1.5, "cp")},
		},
		{
			name: "chain", text: "a chain of 200 `/bin/true`",
			prepare: l.chain,
			aims:    []aim{maxFactor(1.8, "shell")},
		},
		{
			name: "compile-loop-10000", text: "compile 10,000 parts of one for_each",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "hcl", 10_000, bench.LoopSite) },
			aims:    []aim{maxSeconds(0.5)},
		},
		{
			name: "compile-script-10000", text: "compile 10,000 parts of a Starlark loop",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "star", 10_000, bench.ScriptSite) },
			aims:    []aim{maxSeconds(0.5)},
		},
		{
			name: "compile-blocks-10000", text: "compile 10,000 blocks",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "hcl", 10_000, bench.BlockSite) },
			aims:    []aim{maxSeconds(0.7)},
		},
		{
			name: "compile-loop-100000", text: "compile 100,000 parts of one for_each",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "hcl", 100_000, bench.LoopSite) },
			aims:    []aim{withinTimes(12, "compile-loop-10000")},
		},
		{
			name: "compile-script-100000", text: "compile 100,000 parts of a Starlark loop",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "star", 100_000, bench.ScriptSite) },
			aims:    []aim{withinTimes(12, "compile-script-10000")},
		},
		{
			name: "compile-blocks-100000", text: "compile 100,000 blocks",
			prepare: func(dir string) ([]program, error) { return l.compile(dir, "hcl", 100_000, bench.BlockSite) },
			aims:    []aim{withinTimes(12, "compile-blocks-10000")},
		},
	}
}

// files has every tool keep n files, found as wanted or (cold) not at all. The
// tools share the directory, so that each finds what it would have made.
func (l *lab) files(dir string, n int, cold bool) ([]program, error) {
	files := filepath.Join(dir, "files")
	count := strconv.Itoa(n)
	var before func() error
	limit := []string{l.limit, "check", files, count}
	check := limit
	if cold {
		before = empty(files)
		limit = []string{l.limit, "write", files, count}
	} else if _, _, err := measure(dir, []string{l.limit, "write", files, count}); err != nil {
		return nil, err
	}
	after := func() error { _, _, err := measure(dir, check); return err }
	inputs := map[string]string{
		"site.hcl":     bench.LoopSite(files, n),
		"policy.cf":    cfenginePolicy(files, n, paddedContent),
		"playbook.yml": ansiblePlaybook(files, n),
	}
	if err := writeAll(dir, inputs); err != nil {
		return nil, err
	}
	programs := []program{
		{name: "limit", argv: limit},
		{name: "tenet", argv: l.apply(dir)},
	}
	if l.cfengine != "" {
		argv := []string{l.cfengine, "--no-lock", "--file", filepath.Join(dir, "policy.cf")}
		programs = append(programs, program{name: "cfengine", argv: argv})
	}
	if l.ansible != "" && n <= 100 { // it needs seconds for those
		argv := []string{l.ansible, "-i", "localhost,", "-c", "local", filepath.Join(dir, "playbook.yml")}
		programs = append(programs, program{name: "ansible", argv: argv, runsOnce: true})
	}
	for i := range programs {
		programs[i].prepare, programs[i].check = before, after
	}
	return programs, nil
}

// apply is tenet with its default settings; the state folder lies on the same
// disk as the files.
func (l *lab) apply(dir string) []string {
	return []string{l.tenet, "apply", "--yes", "--state-dir", filepath.Join(dir, "state"), filepath.Join(dir, "site.hcl")}
}

// chain compares a chain of commands with a shell that starts the same ones.
func (l *lab) chain(dir string) ([]program, error) {
	const n = 200
	err := writeAll(dir, map[string]string{"site.hcl": bench.ChainSite("/bin/true", n)})
	loop := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", n)
	return []program{
		{name: "shell", argv: []string{"/bin/sh", "-c", loop}},
		{name: "tenet", argv: l.apply(dir)},
	}, err
}

// packages wants 30 packages of a machine that has them: a directory that holds what
// dpkg knows of 3,000.
func (l *lab) packages(dir string) ([]program, error) {
	const wanted, installed = 30, 3000
	root := filepath.Join(dir, "root")
	for _, sub := range []string{"usr/bin", "var/lib/dpkg"} {
		if err := os.MkdirAll(filepath.Join(root, sub), 0o755); err != nil {
			return nil, err
		}
	}
	err := writeAll(dir, map[string]string{
		"site.hcl":                 bench.PackageSite(wanted, installed),
		"root/usr/bin/apt-get":     "",
		"root/var/lib/dpkg/status": bench.DpkgStatus(installed),
	})
	return []program{{name: "tenet", argv: []string{l.tenet, "apply", "--yes", "--root", root, filepath.Join(dir, "site.hcl")}}}, err
}

// compile prints a site's run as JSON. The largest sites need more memory than
// the limit that is meant for mistakes.
func (l *lab) compile(dir, ending string, n int, site func(string, int) string) ([]program, error) {
	name := "site." + ending
	err := writeAll(dir, map[string]string{name: site("/srv/files", n)})
	return []program{
		{name: "tenet", argv: []string{l.tenet, "compile", "--json", "--eval-memory", "4GiB", "--eval-timeout", "5m", filepath.Join(dir, name)}},
	}, err
}

func writeAll(dir string, files map[string]string) error {
	for name, content := range files {
		// CFEngine refuses policies that others could write.
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
