package testcase

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/modules/simulated"
)

// Dir is the directory of a site that holds its cases, in files *.hcl.
const Dir = "tests"

// Case is one test of a site.
type Case struct {
	File        string // from the site's directory: tests/site.hcl
	Name        string
	Description string
	Range       diag.Range // of its header

	block   *block
	machine *machineBlock
	hosts   []hostMachine // that it is about; none: it is about one machine
}

// How far a case goes.
const (
	untilRun   = "run"
	untilPlan  = "plan"
	untilApply = "apply"
)

// stageOf gives what the block is an expectation of; empty: of nothing.
func stageOf(b *block) string {
	stage, is := strings.CutPrefix(b.word, "expect_")
	if !is {
		return ""
	}
	return stage
}

func stages() []string { return []string{untilRun, untilPlan, untilApply} }

// Cases are all cases of a site.
type Cases struct {
	List    []*Case
	sources map[string][]byte
	tested  map[string]bool // modules
}

// Source gives the text of a file of cases, for snippets.
func (c *Cases) Source(file string) ([]byte, bool) {
	text, ok := c.sources[file]
	return text, ok
}

// Has reports whether a site has cases.
func Has(site fs.FS) bool {
	names, err := names(site)
	return err == nil && len(names) > 0
}

func names(site fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(site, Dir)
	var out []string
	for _, e := range entries {
		if isCaseFile(e) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// isCaseFile tells the files of cases from others in their directory.
func isCaseFile(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasSuffix(e.Name(), ".hcl") && !strings.HasPrefix(e.Name(), ".")
}

// Read reads the cases of a site: of all its files, or of the named ones, such
// as "site.hcl". Mistakes are in the list; cases without one are in Cases
// nevertheless.
func Read(site fs.FS, only ...string) (*Cases, diag.List) {
	cases := &Cases{sources: map[string][]byte{}, tested: map[string]bool{}}
	files, list := expr.NewFiles(site), diag.List{}
	all, err := names(site)
	if err != nil {
		list.Add(diag.Diagnostic{Summary: "the cases cannot be read: " + err.Error(), Hint: "put them into " + Dir + "/*.hcl beside the site"})
		return cases, list
	}
	for _, name := range all {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		src, err := files.Bytes(Dir, name)
		at := path.Join(Dir, name)
		if err != nil {
			list.Add(diag.Diagnose(err, diag.Range{File: at}))
			continue
		}
		cases.sources[at] = src
		d := &decoder{file: at, src: src, ctx: &hcl.EvalContext{
			Functions: files.FunctionMap(Dir), Variables: map[string]cty.Value{"local": cty.EmptyObjectVal},
		}}
		cases.List = append(cases.List, d.cases(cases.tested)...)
		list.Add(d.list...)
	}
	if len(only) == 0 {
		list.Add(cases.warnUntested(site)...)
	}
	return cases, list.Sorted()
}

// warnUntested warns of modules of the site's own that have no test.
func (c *Cases) warnUntested(site fs.FS) diag.List {
	var list diag.List
	entries, err := fs.ReadDir(site, "modules")
	if err != nil {
		return nil // there are none
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".star")
		if ok && !e.IsDir() && !strings.HasPrefix(name, "_") && !c.tested[name] {
			list.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("the module %q has no test", name),
				Hint:  fmt.Sprintf("write module %q { example { … } } into a file of %s", name, Dir),
				Range: diag.Range{File: path.Join("modules", e.Name())}})
		}
	}
	return list
}

// cases decodes one file, and notes the modules that it tests.
func (d *decoder) cases(tested map[string]bool) []*Case {
	body := d.parse()
	if body == nil {
		return nil
	}
	d.locals(body)
	root := &block{}
	d.body(body, shapeOfFile(), root)
	if b := root.single("needs"); b != nil {
		d.machine(b, nil) // for its mistakes: who runs a case reads it again
	}
	shared := map[string]*machineBlock{}
	for _, b := range root.blocksOf("machine") {
		if before := shared[b.label]; before != nil {
			d.twice(b, "the shared machine", before.at)
			continue
		}
		shared[b.label] = d.machine(b, shared)
	}
	var out []*Case
	seen := map[string]diag.Range{}
	for _, b := range root.blocks {
		if b.word != "case" && b.word != "module" {
			continue
		}
		before := len(d.list)
		if first, twice := seen[b.word+b.label]; twice {
			d.twice(b, "the "+b.word, first)
		}
		seen[b.word+b.label] = b.at
		c := &Case{File: d.file, Name: b.label, Description: the[string](b, "description"), Range: b.at, block: b}
		c.machine, c.hosts = d.machines(b, shared)
		if b.word == "module" {
			c.Name, tested[b.label] = "module "+b.label, true
			d.checkModule(c)
		} else {
			d.check(c)
		}
		if len(d.list) == before {
			out = append(out, c)
		}
	}
	return out
}

func (d *decoder) twice(b *block, what string, first diag.Range) {
	d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s %q is there twice", what, b.label), Range: b.at,
		Hint: "give each a name of its own", Related: []diag.Related{{Message: "here first", Range: first}}})
}

// check finds what contradicts itself in a case.
func (d *decoder) check(c *Case) {
	wrong := func(at diag.Range, hint, message string) {
		d.list.Add(diag.Diagnostic{Summary: message, Hint: hint, Range: at})
	}
	if c.Name == "" {
		wrong(c.Range, `write case "what it shows" { … }`, "a case needs a name")
	}
	if steps := c.block.blocksOf("step"); len(steps) > 0 {
		d.checkSteps(c, steps)
		return
	}
	d.checkHosts(c)
	until := slices.Index(stages(), c.lastStage())
	for _, b := range c.block.blocks {
		stage := stageOf(b)
		if stage == "" {
			continue
		}
		at := slices.Index(stages(), stage)
		if stage == "rollout" {
			at = slices.Index(stages(), untilApply)
		}
		if at > until {
			wrong(b.at, "take until away, or the block", fmt.Sprintf("the case ends after the %s, and expects something of the %s", c.lastStage(), stage))
		}
		if refused, given := c.block.fields["expect_error"]; given {
			wrong(refused.at, "write two cases", "a site that is refused has no "+stage)
		}
		if golden, given := b.fields["golden"]; given {
			d.golden(golden)
		}
	}
}

// checkSteps finds what contradicts itself in the steps of a case.
func (d *decoder) checkSteps(c *Case, steps []*block) {
	for _, b := range c.block.blocks {
		if b.word != "step" && b.word != "machine" {
			d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s stands beside steps", b.word), Range: b.at,
				Hint: "write it into the step after which that is expected"})
		}
	}
	for _, name := range []string{"expect_error", "expect_warning"} {
		if f, given := c.block.fields[name]; given {
			d.list.Add(diag.Diagnostic{Summary: name + " stands beside steps", Range: f.name, Hint: "write it into the step in which that is expected"})
		}
	}
	seen := map[string]diag.Range{}
	for _, b := range steps {
		if first, twice := seen[b.label]; twice {
			d.twice(b, "the step", first)
		}
		seen[b.label] = b.at
		d.check(&Case{File: c.File, Name: cmp.Or(b.label, c.Name), Range: b.at, block: stepBlock(c.block, b), hosts: c.hosts})
		if b.label == "" {
			d.list.Add(diag.Diagnostic{Summary: "a step needs a name", Range: b.at, Hint: `write step "what is done" { … }`})
		}
	}
}

func (d *decoder) golden(f field) {
	name, _ := f.value.(string)
	if !fs.ValidPath(name) || name == "." || strings.HasSuffix(name, ".hcl") || strings.ContainsAny(name, "\\\x00") {
		d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%q cannot be a golden file", name), Range: f.at,
			Hint: `name a file within ` + Dir + `/, such as "golden/plain.json"`})
	}
}

func (d *decoder) checkModule(c *Case) {
	if len(c.block.blocksOf("example")) == 0 {
		d.list.Add(diag.Diagnostic{Summary: "the test of a module needs an example", Range: c.Range,
			Hint: "write example { NAME = VALUE … } with the attributes of a part"})
	}
}

// lastStage tells how far the case goes.
func (c *Case) lastStage() string {
	if word, ok := get[string](c.block, "until"); ok {
		return word
	}
	return untilApply
}

// expectsError gives the patterns that the site's errors must match.
func (c *Case) expectsError() []*regexp.Regexp { return the[[]*regexp.Regexp](c.block, "expect_error") }

// locals evaluates the blocks locals, each value after those that it names.
func (d *decoder) locals(body *hclsyntax.Body) {
	all := map[string]*hclsyntax.Attribute{}
	var order []*hclsyntax.Attribute
	for _, b := range body.Blocks {
		if b.Type != "locals" || len(b.Labels) > 0 {
			continue
		}
		for _, inner := range b.Body.Blocks {
			d.errorf(inner.TypeRange, "write NAME = VALUE", "locals hold no blocks")
		}
		for _, a := range inOrder(b.Body.Attributes) {
			if first := all[a.Name]; first != nil {
				d.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("local.%s is there twice", a.Name), Range: expr.Range(a.NameRange),
					Hint: "give each a name of its own", Related: []diag.Related{{Message: "here first", Range: expr.Range(first.NameRange)}}})
				continue
			}
			all[a.Name] = a
			order = append(order, a)
		}
	}
	values := map[string]cty.Value{}
	begun := map[string]bool{}
	var find func(a *hclsyntax.Attribute)
	find = func(a *hclsyntax.Attribute) {
		if begun[a.Name] {
			if _, done := values[a.Name]; !done {
				d.errorf(a.NameRange, "give one of them a value without the other", "local.%s needs itself", a.Name)
				values[a.Name] = cty.DynamicVal
			}
			return
		}
		begun[a.Name] = true
		for _, t := range a.Expr.Variables() {
			if t.RootName() != "local" || len(t) < 2 {
				continue
			}
			if step, ok := t[1].(hcl.TraverseAttr); ok && all[step.Name] != nil {
				find(all[step.Name])
			}
		}
		d.ctx.Variables["local"] = cty.ObjectVal(values)
		if v, ok := d.evaluate(a.Expr); ok {
			values[a.Name] = v
		} else {
			values[a.Name] = cty.DynamicVal
		}
	}
	for _, a := range order {
		find(a)
	}
	d.ctx.Variables["local"] = cty.ObjectVal(values)
}

// machineBlock is a machine with the places where its things are described.
type machineBlock struct {
	simulated.Machine
	at     diag.Range
	places map[string]diag.Range // of kind and name
}
