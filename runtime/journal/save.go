package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/tenetcm/tenet/states"
)

// Masked stands where a sensitive value was.
const Masked = "(sensitive)"

// OutputName is the file in output/ for what a part printed on a stream.
func OutputName(address, stream string) string {
	name := url.PathEscape(address)
	if len(name) > 200 { // a file name has at most 255 bytes
		name = name[:200]
	}
	return name + "." + stream
}

// save writes what the run is made of into its folder.
func save(dir string, m Meta) error {
	secrets := map[string]map[string]any{}
	err := writeJSON(filepath.Join(dir, "run.json"), func(e *json.Encoder, w *bufio.Writer) error {
		return encodeRun(e, w, m.Run, secrets)
	})
	if err == nil && len(secrets) > 0 {
		err = writeJSON(filepath.Join(dir, "secrets.json"), func(e *json.Encoder, _ *bufio.Writer) error {
			return e.Encode(secrets)
		})
	}
	if err == nil {
		err = writeJSON(filepath.Join(dir, "sources.json"), func(e *json.Encoder, _ *bufio.Writer) error {
			return e.Encode(m.Sources)
		})
	}
	return err
}

func writeJSON(path string, encode func(*json.Encoder, *bufio.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return errors.Join(encode(e, out), out.Flush(), f.Close())
}

// runHead is a StateRun but for its invocations: the outer fields hide the
// inner ones, and are left out.
type runHead struct {
	*states.StateRun
	Invocations *struct{} `json:"invocations,omitempty"`
	Handlers    *struct{} `json:"handlers,omitempty"`
}

// encodeRun writes the StateRun one invocation at a time, so that a large one
// never stands in memory a second time. Sensitive values go into secrets.
func encodeRun(e *json.Encoder, w *bufio.Writer, run *states.StateRun, secrets map[string]map[string]any) error {
	text, err := json.Marshal(runHead{StateRun: run})
	if err != nil {
		return err
	}
	if _, err := w.Write(text[:len(text)-1]); err != nil {
		return err
	}
	for _, list := range []struct {
		name        string
		invocations []states.Invocation
	}{{"invocations", run.Invocations}, {"handlers", run.Handlers}} {
		if err := encodeList(e, w, list.name, list.invocations, secrets); err != nil {
			return err
		}
	}
	_, err = w.WriteString("}\n")
	return err
}

func encodeList(e *json.Encoder, w *bufio.Writer, name string, list []states.Invocation, secrets map[string]map[string]any) error {
	if _, err := fmt.Fprintf(w, ",\n%q:[", name); err != nil {
		return err
	}
	for i, inv := range list {
		if i > 0 {
			if err := w.WriteByte(','); err != nil {
				return err
			}
		}
		if err := e.Encode(maskInvocation(inv, secrets)); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// maskInvocation gives the invocation without its sensitive values, which it
// adds to secrets by the part's address.
func maskInvocation(inv states.Invocation, secrets map[string]map[string]any) states.Invocation {
	parts := make([]states.Part, len(inv.Parts))
	copy(parts, inv.Parts)
	for i := range parts {
		p := &parts[i]
		if len(p.Sensitive) == 0 {
			continue
		}
		p.Values = maps.Clone(p.Values)
		hidden := map[string]any{}
		for _, name := range p.Sensitive {
			if v, ok := p.Values[name]; ok {
				hidden[name] = v
				p.Values[name] = Masked
			}
		}
		secrets[p.Address] = hidden
	}
	inv.Parts = parts
	return inv
}
