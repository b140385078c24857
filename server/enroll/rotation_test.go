package enroll

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/tenetcm/tenet/runtime/agent/identity"
	"github.com/tenetcm/tenet/runtime/trust"
)

// opens tells whether a host has the key that a server would encrypt to.
func (m *machine) opens(recipient string) bool {
	return slices.ContainsFunc(m.Unsealing(), func(k age.Identity) bool {
		own, ok := k.(*age.X25519Identity)
		return ok && own.Recipient().String() == recipient
	})
}

// countKeys counts the entries of the audit about keys that a host has replaced.
func (w *world) countKeys(id trust.ID) (n int) {
	w.Helper()
	for _, act := range w.audited(id) {
		if strings.HasPrefix(act, "host.keys") {
			n++
		}
	}
	return n
}

// errCut is that the process has ended at a change of the disk.
var errCut = errors.New("cut")

// cutAt does something, in a process that ends at the change with a number of its file.
func (w *world) cutAt(dir string, n int, act func(*identity.Identity) error) (err error) {
	w.Helper()
	i, err := identity.Load(dir, identity.Options{Clock: w.now, Step: func(string) {
		if n--; n < 0 {
			panic(errCut)
		}
	}})
	must(w, err)
	defer func() {
		if r := recover(); r != nil {
			if r != errCut {
				panic(r)
			}
			err = errCut
		}
		err = errors.Join(err, i.Close())
	}()
	return act(i)
}

// Wherever the process ends while keys are replaced, the host opens what the server encrypts to it and what it held before, and connects once it has renewed.
func TestRotationIsCut(t *testing.T) {
	rotate := func(i *identity.Identity) error {
		if _, err := i.TakeRotation(); err != nil {
			return err
		}
		return i.Rotate(t.Context())
	}
	w := newWorld(t)
	for n := 0; ; n++ {
		w.pass(time.Hour)
		i, dir := w.host(fmt.Sprint("cut", n))
		w.renew(i)
		former := i.Keys()
		must(t, i.Close())
		must(t, identity.RequestRotation(dir, former.Number))
		err := w.cutAt(dir, n, rotate)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		m := w.open(dir)
		h, lookup := w.registry.Get(w.ctx, m.ID())
		must(t, lookup)
		if !m.opens(h.Keys.Sealing) || !m.opens(former.Sealing) {
			t.Errorf("cut at %d: it does not open what is encrypted to it", n)
		}
		if _, err := m.TakeRotation(); err != nil {
			t.Error(err)
		}
		if a := w.renew(m.Identity); !a.Renewed || a.State != identity.Active {
			t.Errorf("cut at %d: %+v", n, a)
		}
		now := m.Keys()
		if !w.registry.MayConnect(m.ID(), now.Connection) || w.registry.MayConnect(m.ID(), former.Connection) || now.Number != former.Number+1 || !m.opens(former.Sealing) {
			t.Errorf("cut at %d: the keys are %+v, and were %+v", n, now, former)
		}
		if got := w.countKeys(m.ID()); got != 1 {
			t.Errorf("cut at %d: %d entries in the audit", n, got)
		}
		must(t, m.Close())
		if err == nil {
			if n < 6 { // three changes, each with what is before and after it
				t.Errorf("there were only %d places to cut", n)
			}
			return
		}
	}
}

// What a copy says of keys, before and after the host has replaced its own, changes nothing; connections by the former key are ended.
func TestRotationOfACopy(t *testing.T) {
	var rekeyed []trust.ID
	w := newWorld(t, func(o *Options) { o.Rekeyed = func(id trust.ID) { rekeyed = append(rekeyed, id) } })
	i, dir := w.host("web1")
	w.renew(i)
	other := w.copyOf(dir)
	must(t, i.Rotate(w.ctx))
	if !slices.Equal(rekeyed, []trust.ID{i.ID()}) {
		t.Errorf("connections were ended of %v", rekeyed)
	}
	w.pass(time.Hour)
	wantError(t, other.Rotate(w.ctx), "has not taken the keys, since this host is locked")
	h := w.wantState(i.ID(), identity.Locked)
	if h.Keys.Sealing != i.Keys().Sealing || h.Keys.Number != 2 || w.countKeys(i.ID()) != 1 {
		t.Errorf("the keys of the copy count: %+v", h.Keys)
	}
	w.renew(i)
	wantError(t, i.Rotate(w.ctx), "this host is locked: its keys stay as they are")
	must(t, other.Close())
}

// Former keys are forgotten once nothing needs them, and none is given up for another one.
func TestFormerKeys(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	m := &machine{i, dir}
	w.renew(i)
	first := m.Keys().Sealing
	var second string
	for n := range 16 {
		w.pass(time.Hour)
		must(t, m.Rotate(w.ctx))
		if n == 0 {
			second = m.Keys().Sealing
		}
	}
	wantError(t, m.Rotate(w.ctx), "16 former sealing keys are still needed")
	must(t, m.ForgetFormer([]string{first, "age1another"}))
	w.crash(m)
	if !m.opens(first) || m.opens(second) || !m.opens(m.Keys().Sealing) || len(m.Unsealing()) != 2 {
		t.Errorf("it has %d keys", len(m.Unsealing()))
	}
	must(t, m.Rotate(w.ctx))
	must(t, m.Close())
}

// A request for other keys counts once, and what is no request is refused and removed.
func TestRequestForKeys(t *testing.T) {
	w := newWorld(t)
	i, dir := w.host("web1")
	w.renew(i)
	for n, want := range []bool{true, false} { // the second names keys that are there by then
		must(t, identity.RequestRotation(dir, 1))
		if !i.IsRotationRequested() {
			t.Error("nobody has asked")
		}
		if isNew, err := i.TakeRotation(); err != nil || isNew != want || i.IsRotationRequested() {
			t.Errorf("%d: %v, %v", n, isNew, err)
		}
		w.renew(i)
	}
	if i.Keys().Number != 2 {
		t.Errorf("the keys have the number %d", i.Keys().Number)
	}
	must(t, os.WriteFile(filepath.Join(dir, "rotation.json"), []byte("[]"), 0o600))
	_, err := i.TakeRotation()
	wantError(t, err, "the request for other keys of this host")
	if i.IsRotationRequested() || i.Keys().Number != 2 {
		t.Error("it is heeded, or asked again")
	}
}
