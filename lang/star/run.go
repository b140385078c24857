package star

import (
	"context"
	"fmt"
	"slices"

	hcl2 "github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/function"
	"go.starlark.net/starlark"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/lang/sandbox"
	"github.com/tenetcm/tenet/lang/syntax"
)

// run is one run of scripts for one host.
type run struct {
	options Options
	files   map[string]*file
	world   syntax.World
	ctx     context.Context
	thread  *starlark.Thread
	env     starlark.StringDict
	tables  map[string]map[string]function.Function // functions, by directory
	// hostLists are the lists that hosts() has given, by pattern.
	hostLists map[string][]starlark.Value

	globals  map[*file]starlark.StringDict // what was run; nil: it failed
	order    []*file                       // what was run, in the order of names once finished
	bodies   map[*file]*syntax.Body
	running  []*file // whose top level runs, outermost first
	items    map[*file][]item
	newParts []*part // by the function of a state that runs

	// library says that what runs declares nothing: a file of functions.
	library bool
	// making is the state whose function runs, nil outside.
	making *state

	pending    []pendingAttribute
	stopReason *stopError
	ended      bool                // a limit is reached
	unknown    map[*file]diag.List // see syntax.Script.Unknown
	lacking    bool                // the world did not know a value
	list       diag.List
}

// item is a block that a file declares, and its part if it is one.
type item struct {
	block *syntax.Block
	part  *part
}

// pendingAttribute is an attribute whose expression depends on where parts end up.
type pendingAttribute struct {
	to    *syntax.Attribute
	value protoExpression
	part  *part // in which it stands; nil: in no part
	src   hcl2.Range
}

func newRun(ctx context.Context, o Options, files map[string]*file, w syntax.World) *run {
	r := &run{options: o, files: files, world: w, ctx: ctx, tables: map[string]map[string]function.Function{}, hostLists: map[string][]starlark.Value{},
		globals: map[*file]starlark.StringDict{}, bodies: map[*file]*syntax.Body{}, items: map[*file][]item{}, unknown: map[*file]diag.List{}}
	// The context ends it by watch, which lasts no longer than what runs.
	r.thread, _ = sandbox.NewThread(context.Background(), "site", sandbox.Limits{Steps: o.MaxSteps})
	r.thread.Load = r.load
	r.env = sandbox.Environment(r.environment())
	return r
}

// watch cancels the thread when the context ends; the caller calls stop.
func (r *run) watch() (stop func() bool) {
	return context.AfterFunc(r.ctx, func() { r.thread.Cancel("cancelled") })
}

// exec runs a file once.
func (r *run) exec(f *file) (starlark.StringDict, bool) {
	if globals, done := r.globals[f]; done {
		return globals, globals != nil
	}
	r.globals[f] = nil
	if f.program == nil || r.ctx.Err() != nil || r.ended {
		return nil, false
	}
	r.running = append(r.running, f)
	if r.bodies[f] == nil {
		r.bodies[f] = &syntax.Body{Src: hcl2.Range{Filename: f.name, Start: hcl2.InitialPos, End: hcl2.InitialPos}}
		r.order = append(r.order, f)
	}
	stop := r.watch()
	globals, err := f.program.Init(r.thread, r.env)
	stop()
	globals.Freeze()
	r.running = r.running[:len(r.running)-1]
	if r.stopReason != nil {
		err = r.stopReason.err
	}
	if err != nil {
		r.fail(f, err)
	} else {
		r.globals[f] = globals
	}
	r.endOfFile(f)
	return globals, err == nil
}

// fail reports why a script ended. What was stopped from outside was so once,
// and other files may still run.
func (r *run) fail(f *file, err error) {
	if r.ctx.Err() != nil {
		return // who ended it says so
	}
	before := len(r.list)
	defer func() {
		if r.lacking {
			r.unknown[f] = r.diagnosticsSince(before)
		}
	}()
	if r.stopReason != nil {
		r.list.Add(r.report(r.stopReason.err, r.stopReason.stack)...)
		r.stopReason = nil
		r.thread.Uncancel()
		return
	}
	err = r.checkLimits(err)
	var stack starlark.CallStack
	if e, ok := err.(*starlark.EvalError); ok {
		stack = e.CallStack
	}
	r.list.Add(r.report(err, stack)...)
}

// checkLimits finds out that a limit of the whole run ended a script. Then no other
// may run.
func (r *run) checkLimits(err error) error {
	r.ended = sandbox.Cause(r.ctx, r.thread, errReported) != errReported
	return sandbox.Cause(r.ctx, r.thread, err)
}

// endOfFile puts the parts that no state has taken at top level.
func (r *run) endOfFile(f *file) {
	body := r.bodies[f]
	for _, i := range r.items[f] {
		switch p := i.part; {
		case p == nil:
		case p.ownerName != "":
			continue
		case !f.root:
			r.list.Add(diag.Diagnostic{Summary: fmt.Sprintf("%s is in no state at the end of a file that is loaded", p), Range: expr.Range(p.block.Header),
				Hint: "put it into a function that the site calls, or into a state"})
			p.ownerName = "the file " + f.name
			continue
		default:
			p.top, p.ownerName = true, "the top level of "+f.name
		}
		body.Blocks = append(body.Blocks, i.block)
	}
	r.items[f] = nil
}

// finish completes the expressions, once it is known where all parts are.
func (r *run) finish() {
	for _, l := range r.pending {
		var in *state
		if l.part != nil {
			in = l.part.owner
		}
		l.to.Expr.Expression = l.value.expression(in, l.src)
	}
	r.pending = nil
	slices.SortFunc(r.order, func(a, b *file) int { return compare(a.name, b.name) })
}

// load is the statement load.
func (r *run) load(t *starlark.Thread, name string) (starlark.StringDict, error) {
	from := r.files[t.CallFrame(0).Pos.Filename()]
	if from == nil || from.loads[name] == nil {
		return nil, fmt.Errorf("%q cannot be loaded here", name)
	}
	globals, ok := r.exec(from.loads[name])
	if !ok {
		return nil, errReported
	}
	return globals, nil
}

// call finds out where a word is called.
func (r *run) call() *call {
	frame := r.thread.CallFrame(1)
	c := &call{file: r.files[frame.Pos.Filename()]}
	if c.file == nil { // called by a function of the library
		c.file = r.running[0]
		c.whole = hcl2.Range{Filename: c.file.name, Start: hcl2.InitialPos, End: hcl2.InitialPos}
		c.word = c.whole
		return c
	}
	c.node = c.file.calls[point{frame.Pos.Line, frame.Pos.Col}]
	if c.node == nil {
		c.whole = c.file.rangeAt(frame.Pos)
		c.word = c.whole
	} else {
		c.whole, c.word = c.file.span(c.node), c.file.span(c.node.Fn)
	}
	for i := 2; i < r.thread.CallStackDepth(); i++ {
		frame := r.thread.CallFrame(i)
		if f := r.files[frame.Pos.Filename()]; f != nil {
			src := f.rangeAt(frame.Pos)
			if node := f.calls[point{frame.Pos.Line, frame.Pos.Col}]; node != nil {
				src = f.span(node)
			}
			c.calls = append(c.calls, src)
		}
	}
	return c
}

// currentFile is the file to which declarations belong: the one that runs, whose
// functions they may be made in.
func (r *run) currentFile() *file { return r.running[len(r.running)-1] }

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
