package syntax

import (
	"context"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// Scripts are the sources of one directory that declare by running: what they
// declare is known only once they have run for a host.
type Scripts interface {
	// Run runs all of them in the order of their names, in a world of their
	// own, and gives what each declares, in that order. A Scripts may be run by
	// several goroutines at once.
	Run(ctx context.Context, w World) ([]Script, diag.List)
	// Functions gives the functions that a file defines, by their names. The
	// file is named relative to the directory.
	Functions(ctx context.Context, file string, w World) (map[string]function.Function, diag.List)
	// Calls gives the calls of a declaring word as they are written, whether
	// they will happen or not: with the label and those attributes that are
	// literals. The expression of an attribute that is not is no literal.
	Calls(word string) []*Block
	// Requests gives what the scripts may ask for, as it is written; of a file of
	// functions, if one is named as Functions does.
	Requests(library string) Requests
	// Mentions gives the words that stand in the scripts, and in what they load, as far as
	// they may name a variable or a local that something uses.
	Mentions() map[string]bool
}

// Requests is what scripts may ask for while they run: more than they do ask for,
// and never less.
type Requests struct {
	Facts   []string // top-level facts
	Sources []string // of components
	// Unbounded says that it cannot be seen which facts, or which components.
	Unbounded bool
}

// Script is what one file declares: a body of the shape of a site's file.
// Blocks in it may hold their parts as a function, see Block.Generate.
// Variables and data are not in it: World.Variable and World.Data have them.
type Script struct {
	Name string // the file
	Body *Body
	// Unknown are the mistakes of the list of Run that may be none once more is
	// known: the world did not know a value that the scripts asked for.
	Unknown diag.List
}

// World is what scripts see of the host and the site while they run. Everything
// that is not known yet, or is never to be shown, is an expression for them:
// they pass it on, and cannot look into it.
type World interface {
	// Variable declares a variable, as a block of type "variable" does, and
	// gives its value; unknown where it has none yet.
	Variable(b *Block) (cty.Value, diag.List)
	// Data declares data, as a block of type "data" does, and gives its value;
	// unknown where something in it is not written as it is.
	Data(b *Block) (cty.Value, diag.List)
	// Value gives the value of kind "var" (a variable that another language
	// declares), "fact" (a top-level fact) or "host" (name, labels or vars).
	// Unknown: it is not known yet. Sensitive values carry their mark.
	Value(kind, name string) (cty.Value, error)
	// Functions are those of the language, for files in a directory of the
	// site: what they read is named relative to it. The directory is named
	// relative to that of the scripts.
	Functions(dir string) map[string]function.Function
}
