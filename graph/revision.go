package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Hidden stands in place of a sensitive value.
const Hidden = "(sensitive)"

// Revision gives the digest of a run as "sha256:…": over lines of canonical JSON,
// the run without its revision, invocations and handlers first, then each of
// these, with sensitive values masked.
func Revision(run *states.StateRun) string {
	digest := sha256.New()
	e := plainjson.NewEncoder(digest)
	head := *run
	head.Revision, head.Invocations, head.Handlers = "", nil, nil
	write := func(v any) {
		if err := e.Encode(v); err != nil {
			panic("graph: a run is no JSON: " + err.Error())
		}
	}
	write(&head)
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			write(&maskAll(list[i : i+1])[0])
		}
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
}

// Mask gives a copy of a run in which Hidden stands for each sensitive value.
// What needs no masking is shared with the run.
func Mask(run *states.StateRun) *states.StateRun {
	masked := *run
	masked.Invocations = maskAll(run.Invocations)
	masked.Handlers = maskAll(run.Handlers)
	return &masked
}

func maskAll(list []states.Invocation) []states.Invocation {
	var out []states.Invocation
	for i := range list {
		for k := range list[i].Parts {
			part := &list[i].Parts[k]
			if len(part.Sensitive) == 0 {
				continue
			}
			if out == nil {
				out = append(out, list...)
			}
			if &out[i].Parts[0] == &list[i].Parts[0] {
				out[i].Parts = append([]states.Part(nil), list[i].Parts...)
			}
			values := maps.Clone(part.Values)
			for _, name := range part.Sensitive {
				if values[name] != nil {
					values[name] = Hidden
				}
			}
			out[i].Parts[k].Values = values
			out[i].Parts[k].Results = maskResults(part)
		}
	}
	if out == nil {
		return list
	}
	return out
}

// maskResults masks the literals of expressions; in those of a sensitive
// attribute, all.
func maskResults(part *states.Part) map[string]*states.Expr {
	if len(part.Results) == 0 {
		return nil
	}
	masked := make(map[string]*states.Expr, len(part.Results))
	for name, x := range part.Results {
		masked[name] = x.Masked(Hidden, slices.Contains(part.Sensitive, name) && part.Options.Sensitive)
	}
	return masked
}

// JSON writes a run as JSON, with sensitive values masked: for people and for
// programs that compare. The same declarations give the same bytes.
func JSON(w io.Writer, run *states.StateRun) error {
	return plainjson.WriteIndented(w, Mask(run))
}
