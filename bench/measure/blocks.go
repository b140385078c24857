package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/bench"
)

// blockCase is a site with a block for each file.
type blockCase struct {
	site       func(dir string, n int) string
	files      func(n int) map[string]string              // of the site; nil: none
	attributes func(site string) func(name string) string // of CFEngine's promises
	content    func(name string) string                   // of what is to be made
}

func (l *lab) blockCases() []bcase {
	return []bcase{
		{
			name: "inline-10000", text: "10,000 blocks of 1 KiB, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.blocks(dir, 10_000, inline()) },
			aims:    []aim{fasterThan(4, "cfengine")},
		},
		{
			name: "inline-1000", text: "1,000 blocks of 1 KiB, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.blocks(dir, 1_000, inline()) },
			aims:    []aim{fasterThan(4, "cfengine")},
		},
		{
			name: "source-10000", text: "10,000 blocks with a source, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.blocks(dir, 10_000, sources()) },
			aims:    []aim{fasterThan(5, "cfengine")},
		},
		{
			name: "templates-200", text: "200 templates, nothing to do",
			prepare: func(dir string) ([]program, error) { return l.blocks(dir, 200, templates()) },
			aims:    []aim{fasterThan(4, "cfengine")},
		},
	}
}

func inline() blockCase {
	whole := func(string) func(string) string { return wholeContent }
	return blockCase{site: bench.InlineSite, attributes: whole, content: bench.Content}
}

func sources() blockCase {
	return blockCase{site: bench.SourceSite, files: bench.Sources, attributes: copySource, content: bench.Content}
}

func templates() blockCase {
	return blockCase{site: bench.TemplateSite, files: templateFiles, attributes: renderSource, content: bench.Rendered}
}

// templateFiles are those of tenet and of CFEngine.
func templateFiles(n int) map[string]string {
	files := bench.Templates(n)
	for i := range n {
		files["mustache/"+bench.Name(i)] = mustache
	}
	return files
}

// blocks has tenet and CFEngine keep n files, each declared on its own, which tenet has made
// before.
func (l *lab) blocks(dir string, n int, c blockCase) ([]program, error) {
	files := filepath.Join(dir, "files")
	inputs := map[string]string{"site.hcl": c.site(files, n), "policy.cf": cfenginePolicy(files, n, c.attributes(dir))}
	if c.files != nil {
		for name, content := range c.files(n) {
			inputs[name] = content
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				return nil, err
			}
		}
	}
	if err := writeAll(dir, inputs); err != nil {
		return nil, err
	}
	after := func() error { return checkContents(files, n, c.content) }
	programs := []program{{name: "tenet", argv: l.apply(dir), check: after}}
	if l.cfengine != "" {
		argv := []string{l.cfengine, "--no-lock", "--file", filepath.Join(dir, "policy.cf")}
		programs = append(programs, program{name: "cfengine", argv: argv, check: after})
	}
	return programs, nil
}

// checkContents compares n files with what they should hold.
func checkContents(dir string, n int, content func(name string) string) error {
	for i := range n {
		got, err := os.ReadFile(filepath.Join(dir, bench.Name(i)))
		if err != nil {
			return err
		}
		if string(got) != content(bench.Name(i)) {
			return fmt.Errorf("%s differs", bench.Name(i))
		}
	}
	return nil
}
