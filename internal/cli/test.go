package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/tenetcm/tenet/internal/atomicfile"
	"github.com/tenetcm/tenet/internal/testcase"
)

type testCmd struct {
	Sites  []string `arg:"" optional:"" help:"Sites with cases in tests/*.hcl, directories above such sites, single files, or std/NAME."`
	Filter string   `name:"run" help:"Take the cases whose names match." placeholder:"REGEXP"`
	Update bool     `help:"Rewrite the golden files that differ."`
	JUnit  string   `name:"junit" help:"Write the results as JUnit XML, too." placeholder:"FILE"`
}

// Help says more than the list of commands has room for.
func (*testCmd) Help() string {
	return "Cases run on simulated machines in memory; this machine is not touched. docs/testing.md says how to write them."
}

// Run tests sites.
func (cmd *testCmd) Run(ctx runContext, s *client) error {
	if err := s.withoutTarget(); err != nil {
		return err
	}
	filter, err := regexp.Compile(cmd.Filter)
	if err != nil {
		return usage("", "--run: %w", err)
	}
	sites, err := findTests(cmd.Sites)
	if err != nil {
		return err
	}
	all, err := s.testAll(ctx, sites, filter, cmd.Update)
	if err != nil {
		return err
	}
	if err := unread(cmd.finish(s, all)); err != nil {
		return err // where nobody reads on, the status still says how it ended
	}
	sum := testcase.SumOf(all)
	switch {
	case sum.Invalid > 0:
		return &status{code: exitSite}
	case sum.Failed > 0:
		return &status{code: exitFailed}
	case sum.Cases == 0:
		return usage("--run takes a regular expression, of which a part of the name is enough", "no case has a name that matches %q", cmd.Filter)
	}
	return nil
}

// testAll carries out the cases of sites, and shows how they end.
func (s *client) testAll(ctx context.Context, sites []testSite, filter *regexp.Regexp, update bool) ([]testcase.Tested, error) {
	var all []testcase.Tested
	for _, site := range sites {
		tested, err := s.test(ctx, site, filter, update)
		if err != nil {
			return nil, err
		}
		all = append(all, tested)
	}
	return all, nil
}

// finish writes what is written when all is known.
func (cmd *testCmd) finish(s *client, all []testcase.Tested) error {
	if cmd.JUnit != "" {
		var out bytes.Buffer
		if err := testcase.JUnit(&out, all); err != nil {
			return failure(err)
		}
		if err := replaceFile(cmd.JUnit, 0o644, out.Bytes()); err != nil {
			return failure(fmt.Errorf("--junit: %w", err))
		}
	}
	if s.globals.JSON {
		return failure(testcase.JSON(s.Out, all))
	}
	return s.print(sumText(all))
}

// sumText is the last line of a test.
func sumText(all []testcase.Tested) string {
	sum, mistakes := testcase.SumOf(all), 0
	for _, t := range all {
		if t.Mistakes.HasErrors() {
			mistakes++
		}
	}
	words := fmt.Sprintf("%d cases", sum.Cases)
	if sum.Cases == 1 {
		words = "1 case"
	}
	for _, count := range []struct {
		n    int
		word string
	}{{sum.Passed, "passed"}, {sum.Failed, "failed"}, {sum.Invalid - mistakes, "invalid"}} {
		if count.n > 0 {
			words += fmt.Sprintf(", %d %s", count.n, count.word)
		}
	}
	if mistakes > 0 {
		words += ", and others with mistakes"
	}
	return fmt.Sprintf("%s in %.1fs", words, sum.Duration.Seconds())
}

// withoutTarget refuses the flags that say something about a real target: a
// case has values of its own.
func (s *client) withoutTarget() error {
	g := s.globals
	for flag, given := range map[string]bool{
		"--var": len(g.Var) > 0, "--var-file": len(g.VarFile) > 0, "--data": len(g.Data) > 0, "--facts": g.Facts != "", "--root": g.Root != "",
		"--target": len(g.Target) > 0, "--tags": len(g.Tags) > 0, "--exclude": len(g.Exclude) > 0, "--state-dir": g.StateDir != "",
		"--limit": g.Limit != "",
	} {
		if given {
			return usage("write it into the case: vars, facts, host, target, tags, exclude", "%s has no meaning for a test", flag)
		}
	}
	return nil
}

// test carries out the cases of one site, and shows how they end.
func (s *client) test(ctx context.Context, at testSite, filter *regexp.Regexp, update bool) (testcase.Tested, error) {
	tested := testcase.Tested{Site: at.path, Dir: at.dir}
	stop := s.limitEvaluation()
	site, err := s.openTest(ctx, at)
	if err != nil {
		stop()
		return tested, err
	}
	cases, mistakes := testcase.Read(site.Files(), at.files...)
	stop()
	tested.Mistakes = mistakes
	source := func(file string) ([]byte, bool) {
		if text, ok := cases.Source(file); ok {
			return text, true
		}
		return site.Source(file)
	}
	o := testcase.Options{Site: site, Registry: site.Registry()}
	if update && !at.standard {
		o.Update = updater(at.dir)
	}
	shown := &shownTests{client: s, site: at.path, dir: at.dir, source: source}
	shown.mistakes(mistakes)
	for _, c := range cases.List {
		if !filter.MatchString(c.Name) {
			continue
		}
		stop := s.limitEvaluation()
		result := testcase.Run(ctx, c, o)
		stop()
		if ctx.Err() != nil {
			return tested, &status{code: exitInterrupted, err: errInterrupted}
		}
		tested.Results = append(tested.Results, result)
		shown.result(result)
	}
	return tested, failure(unread(shown.err))
}

// updater writes golden files, in the site's directory alone.
func updater(dir string) func(string, []byte) error {
	return func(name string, data []byte) error {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return atomicfile.ReplaceIn(root, name, atomicfile.Options{Mode: 0o666}, atomicfile.Data(data))
	}
}
