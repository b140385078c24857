package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/runtime/host/links"
	"github.com/tenetcm/tenet/states"
)

// done is how carrying out a case ended.
type done struct {
	err        error
	action     states.Action
	changes    []states.Change
	changed    bool           // of an act
	unforeseen bool           // a Shadow could not know the effect
	foreseen   bool           // Foresee wrote what can be known
	out        map[string]any // what was observed at the end
	tree       map[string]string
}

// carryOut does what the runtime does with one part.
func (r *runner) carryOut(h host.Host, ensure states.Ensure) done {
	ctx, m := r.t.Context(), r.suite.Module
	want, err := r.decode()
	if err == nil && m.Complete != nil && ensure == states.Present {
		want, err = m.Complete(ctx, h, want)
	}
	if errors.Is(err, host.ErrUnforeseeable) {
		return done{unforeseen: true}
	}
	if err != nil {
		return done{err: err}
	}
	if m.IsAct() {
		changed, out, err := m.Act(ctx, h, want)
		if errors.Is(err, host.ErrUnforeseeable) {
			return done{unforeseen: true}
		}
		return done{err: err, changed: changed, out: m.Encode(out)}
	}
	have, err := m.Read(ctx, h, want)
	if err != nil {
		return done{err: err}
	}
	d := r.compare(have, want, ensure)
	if d.action == "" {
		return d
	}
	if ensure == states.Absent {
		want = nil
	} else {
		want = m.Fill(have, want)
	}
	if d.err = r.write(h, have, want, &d); d.err != nil || d.unforeseen {
		return d
	}
	r.readBack(h, have, want, &d)
	return d
}

// compare tells what is to be done.
func (r *runner) compare(have, want any, ensure states.Ensure) done {
	m := r.suite.Module
	switch {
	case ensure == states.Absent && have == nil:
		return done{}
	case ensure == states.Absent:
		return done{action: states.Remove, changes: m.Diff(have, nil)}
	case have == nil:
		return done{action: states.Create, changes: m.Diff(nil, m.Fill(nil, want))}
	}
	changes := m.Diff(have, m.Fill(have, want))
	if len(changes) == 0 {
		return done{out: m.Encode(have)}
	}
	return done{action: states.Update, changes: changes}
}

func (r *runner) write(h host.Host, have, want any, d *done) error {
	ctx, m := r.t.Context(), r.suite.Module
	var err error
	if _, planning := h.(*host.Shadow); planning && m.Foresee != nil {
		d.foreseen = true
		err = m.Foresee(ctx, h, have, want)
	} else if want == nil {
		err = m.Remove(ctx, h, have)
	} else {
		err = m.Write(ctx, h, have, want)
	}
	if errors.Is(err, host.ErrUnforeseeable) {
		d.unforeseen = true
		return nil
	}
	return err
}

// differences says what was read after an act in place of what was wanted.
func differences(diff []states.Change) string {
	var texts []string
	for _, c := range diff {
		text := fmt.Sprintf("read gives %s = %v, and %v was wanted", c.Attribute, c.From, c.To)
		switch {
		case c.From == nil:
			text = fmt.Sprintf("read gives no %s, and %v was wanted", c.Attribute, c.To)
		case c.To == nil:
			text = fmt.Sprintf("read gives %s = %v, and none was wanted", c.Attribute, c.From)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// readBack holds what is there to be what was wanted.
func (r *runner) readBack(h host.Host, have, want any, d *done) {
	m := r.suite.Module
	reference := want
	if want == nil {
		reference = have
	}
	is, err := m.Read(r.t.Context(), h, reference)
	switch {
	case err != nil:
		d.err = fmt.Errorf("reading it back: %w", err)
	case want == nil && is != nil:
		d.err = fmt.Errorf("it is still there: %.1000s", fmt.Sprint(m.Encode(is)))
	case want != nil && is == nil:
		d.err = errors.New("it is not there")
	case want != nil:
		d.out = m.Encode(is)
		if diff := m.Diff(is, want); len(diff) > 0 {
			d.err = fmt.Errorf("it still differs: %.1000s", differences(diff))
			return
		}
		for name, v := range m.Encode(want) {
			if a := m.Attribute(name); !a.In && !a.Out && !reflect.DeepEqual(d.out[name], v) {
				d.err = fmt.Errorf("attribute %s is %.1000s, and was to be %.1000s", name, fmt.Sprint(d.out[name]), fmt.Sprint(v))
			}
		}
	}
}

// decode makes the wanted resource of the case's values.
func (r *runner) decode() (any, error) {
	want, err := r.suite.Module.Decode(r.values(), r.suite.Site)
	if err != nil {
		return nil, err
	}
	return want, r.suite.Module.Check(want)
}

// values gives the case's values in their canonical form, where they have one.
func (r *runner) values() map[string]any {
	out := map[string]any{}
	for name, v := range r.c.Values {
		v = plain(v)
		a := r.suite.Module.Attribute(name)
		if s, ok := v.(string); ok && a != nil && a.Kind == states.KindSource {
			v = r.source(s)
		} else if ok && a != nil && a.Kind == states.KindTree {
			v = r.tree(s)
		}
		if a != nil {
			if canonical, err := a.Normalize(v); err == nil {
				v = canonical
			}
		}
		out[name] = v
	}
	return out
}

func (r *runner) source(name string) any {
	data, err := fs.ReadFile(r.suite.Site, name)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	sum := sha256.Sum256(data)
	return map[string]any{
		"path": name, "sha256": hex.EncodeToString(sum[:]), "size": json.Number(strconv.Itoa(len(data))),
	}
}

func (r *runner) tree(name string) any {
	entries, err := states.ReadTree(r.suite.Site, name)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return states.NewTree(name, entries).Value()
}

func plain(v any) any {
	switch v := v.(type) {
	case int:
		return json.Number(strconv.Itoa(v))
	case []string:
		list := []any{}
		for _, s := range v {
			list = append(list, s)
		}
		return list
	case map[string]string:
		m := map[string]any{}
		for k, s := range v {
			m[k] = s
		}
		return m
	}
	return v
}

// snapshot describes everything on a host, times apart.
func snapshot(t T, h host.Host) map[string]string {
	t.Helper()
	tree := map[string]string{}
	var walk func(string)
	walk = func(name string) {
		info, err := h.Lstat(name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s %d:%d", info.Kind, states.FormatMode(info.Mode), info.UID, info.GID)
		switch info.Kind {
		case host.Regular:
			addContent(t, &text, h, name, info.Size)
		case host.Symlink:
			target, err := h.ReadLink(name)
			if err != nil {
				t.Fatalf("%v", err)
			}
			text.WriteString(" → " + target)
		case host.Directory:
			entries, err := h.ReadDir(name)
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, e := range entries {
				walk(path.Join(name, e.Name))
			}
		}
		tree[name] = text.String()
	}
	walk("/")
	addLinks(t, h, tree)
	return tree
}

// addContent appends the content of a file, however large it is.
func addContent(t T, text *strings.Builder, h host.Reader, name string, size int64) {
	t.Helper()
	f, err := h.Open(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	text.Grow(1 + int(size))
	text.WriteByte(' ')
	_, err = io.Copy(text, f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatalf("%v", err)
	}
}

// addLinks describes the network devices of a host that has them.
func addLinks(t T, h host.Host, tree map[string]string) {
	t.Helper()
	devices, err := host.LinksOf(t.Context(), h)
	if errors.Is(err, host.ErrUnsupported) {
		return
	}
	var list []links.Link
	if err == nil {
		list, err = devices.List(t.Context())
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, l := range list {
		tree["device "+l.Name] = fmt.Sprintf("%s up %v mtu %d %s in %q %q %q %v",
			l.Kind, *l.Up, *l.MTU, l.MAC, *l.Master, l.Addresses, l.Passing, l.Options)
	}
}
