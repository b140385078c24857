package evaluate

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Limits of outlines, in bytes.
const (
	maxPackedOutline = 1 << 20
	maxOutline       = 64 << 20
)

// packOutline gives a run without its values; nil: it is too large.
func packOutline(run *states.StateRun) ([]byte, error) {
	text, err := plainjson.Marshal(graph.Outline(run))
	if err != nil || len(text) > maxOutline {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil || out.Len() > maxPackedOutline {
		return nil, err
	}
	return out.Bytes(), nil
}

// ReadOutline reads Result.Outline.
func ReadOutline(packed []byte) (*states.Outline, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("an outline is damaged: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxOutline+1))
	if err != nil {
		return nil, fmt.Errorf("an outline is damaged: %w", err)
	}
	if len(text) > maxOutline {
		return nil, fmt.Errorf("an outline has more than %d bytes", maxOutline)
	}
	o := &states.Outline{}
	return o, json.Unmarshal(text, o)
}
