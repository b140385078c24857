package runner

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/custom"
	"github.com/tenetcm/tenet/runtime/importer"
	"github.com/tenetcm/tenet/runtime/machine"
	"github.com/tenetcm/tenet/runtime/wire"
	"github.com/tenetcm/tenet/states"
)

// Import tells what is set up, as a site would declare it. It changes nothing, the records included.
func (r *Runner) Import(ctx context.Context, q machine.ImportRequest, o machine.Observer) (*machine.Import, error) {
	ctx, c, done := r.begin(ctx, o)
	defer done()
	found, err := c.importFrom(ctx, q)
	return found, asError(err)
}

// contentPiece is how many bytes of files are told at once.
const contentPiece = 256 << 10

func (c *call) importFrom(ctx context.Context, q machine.ImportRequest) (found *machine.Import, err error) {
	if len(q.Contents) > 0 {
		out := bufio.NewWriterSize(outputWriter{c}, contentPiece)
		if err = importer.Contents(ctx, c.Host, q.Contents, out); err == nil {
			err = out.Flush()
		}
		found = &machine.Import{Areas: []*machine.ImportArea{}}
	} else {
		registry := c.Registry
		if q.Modules != nil {
			if registry, err = modulesIn(c.Registry, q.Modules); err != nil {
				return nil, err
			}
		}
		found, err = importer.Answer(ctx, c.Host, registry, q)
	}
	if ctx.Err() != nil {
		return nil, interruption(ctx)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// outputWriter tells the observer what is written, as the output of a program.
type outputWriter struct{ *call }

func (w outputWriter) Write(data []byte) (int, error) {
	w.observer.TellOutput("stdout", data)
	return len(data), nil
}

// modulesIn adds the modules that an archive holds. One with mistakes is not among them: who needs it is told that it is not there.
func modulesIn(registry *states.Registry, archive []byte) (*states.Registry, error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, &diag.HintError{Code: machine.CodeUsage, Err: fmt.Errorf("the modules of the site cannot be read: %w", err)}
	}
	own, list := custom.Load(files, custom.Dir, custom.Options{Registry: registry})
	if len(own.Modules()) == 0 && list.HasErrors() {
		return nil, &diag.HintError{Code: machine.CodeUsage, Err: fmt.Errorf("the modules of the site cannot be used: %w", list.Err())}
	}
	return registry.With(own.Modules()...), nil
}

// serveImport tells what is set up.
func (s *session) serveImport(ctx context.Context, q *wire.Request, _ *wire.End) error {
	if q.Import == nil {
		return errors.New("it is not said what is to be read")
	}
	return give[*machine.Import](s)(s.importFrom(ctx, *q.Import))
}
