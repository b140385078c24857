package journal

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/states"
)

// Masked stands where a sensitive value was.
const Masked = "(sensitive)"

// OutputName is the file in output/ for what a part printed on a stream.
func OutputName(address, stream string) string {
	name := url.PathEscape(address)
	if len(name) > 180 { // a file name has at most 255 bytes
		sum := sha256.Sum256([]byte(address))
		name = name[:180] + "-" + hex.EncodeToString(sum[:8])
	}
	return name + "." + stream
}

// sameRun is the former run's run.json, if it holds the same bytes: its
// revision is the same, and the machine has not been started anew since, so
// that it cannot have been torn by a loss of power. Empty: there is none.
func (f *Folder) sameRun(last, now LockedError) string {
	if last.Revision == "" || last.Revision != now.Revision || last.Boot == "" || last.Boot != now.Boot {
		return ""
	}
	return f.path(last.Run, "run.json")
}

// BootID names the time since the kernel was started; empty where it is unknown.
func BootID() string { return bootID() }

var bootID = sync.OnceValue(func() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
})

// save writes what the run is made of into its folder. A run.json that is the
// same as a former one becomes a link to it: most runs of a machine are alike.
func save(d disk, dir string, m Meta, same string) error {
	private := privateOf(m.Run)
	path := filepath.Join(dir, "run.json")
	if same == "" || d.link(same, path) != nil {
		err := writeJSON(d, path+".new", func(e *json.Encoder, w *bufio.Writer) error {
			return encodeRun(e, w, m.Run)
		})
		if err == nil {
			err = d.rename(path+".new", path)
		}
		if err != nil {
			return err
		}
	}
	if private != nil {
		err := writeJSON(d, filepath.Join(dir, secretsFile), func(e *json.Encoder, _ *bufio.Writer) error {
			return e.Encode(private)
		})
		if err != nil {
			return err
		}
	}
	f, err := d.open(filepath.Join(dir, "sources.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	return Join(encodeTo(f, func(e *json.Encoder, _ *bufio.Writer) error { return e.Encode(m.Sources) }), f.Close())
}

// writeJSON writes one object, with its digest.
func writeJSON(d disk, path string, encode func(*json.Encoder, *bufio.Writer) error) error {
	f, err := d.open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	sealed := newSealer(f)
	if err = encodeTo(sealed, encode); err == nil {
		err = sealed.end()
	}
	return Join(err, f.Close())
}

func encodeTo(to io.Writer, encode func(*json.Encoder, *bufio.Writer) error) error {
	out := bufio.NewWriterSize(to, 1<<16)
	return Join(encode(plainjson.NewEncoder(out), out), out.Flush())
}

// runHead is a StateRun but for its invocations: the outer fields hide the
// inner ones, and are left out.
type runHead struct {
	*states.StateRun
	Invocations *struct{} `json:"invocations,omitempty"`
	Handlers    *struct{} `json:"handlers,omitempty"`
}

// encodeRun writes the StateRun one invocation at a time, so that a large one
// never stands in memory a second time.
func encodeRun(e *json.Encoder, w *bufio.Writer, run *states.StateRun) error {
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
		if err := encodeList(e, w, list.name, list.invocations); err != nil {
			return err
		}
	}
	_, err = w.WriteString("}\n")
	return err
}

func encodeList(e *json.Encoder, w *bufio.Writer, name string, list []states.Invocation) error {
	if _, err := fmt.Fprintf(w, ",\n%q:[", name); err != nil {
		return err
	}
	for i := range list {
		if i > 0 {
			if err := w.WriteByte(','); err != nil {
				return err
			}
		}
		if err := e.Encode(maskInvocation(&list[i])); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// maskInvocation gives the invocation without its sensitive values.
func maskInvocation(inv *states.Invocation) *states.Invocation {
	if !slices.ContainsFunc(inv.Parts, func(p states.Part) bool { return len(p.Sensitive) > 0 }) {
		return inv
	}
	masked := *inv
	masked.Parts = slices.Clone(inv.Parts)
	for i := range masked.Parts {
		p := &masked.Parts[i]
		p.Values = maps.Clone(p.Values)
		for _, name := range p.Sensitive {
			if _, ok := p.Values[name]; ok {
				p.Values[name] = Masked
			}
		}
		p.Results = maps.Clone(p.Results)
		for name, x := range p.Results {
			p.Results[name] = x.Masked(Masked, p.Options.Sensitive)
		}
	}
	return &masked
}
