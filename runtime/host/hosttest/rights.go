package hosttest

import (
	"io/fs"

	"github.com/tenetcm/tenet/runtime/host"
)

// rights tests Permissions. Where root acts, nothing is refused; then both sides agree
// on that.
func rights() map[string]func(*tester) {
	return map[string]func(*tester){
		"who acts": func(x *tester) {
			if c := x.Credentials(); c.UID != x.uid || c.GID != x.gid {
				x.Errorf("%+v acts, and %d:%d by Actor", c, x.uid, x.gid)
			}
			x.mkdir("d")
			x.must(x.SetMeta(x.at("d"), host.Meta{Mode: new(fs.FileMode(0o500))}))
			defer x.SetMeta(x.at("d"), host.Meta{Mode: new(fs.FileMode(0o700))}) // for who cleans up
			privileged := x.Credentials().Privileged
			if a := x.Access(x.at("d")); a != (host.Access{Names: privileged}) {
				x.Errorf("a shut directory is %+v", a)
			}
			if a := x.Access(x.dir); a != (host.Access{Names: true}) {
				x.Errorf("an own directory is %+v", a)
			}
			if a := x.Access(x.at("missing")); !a.Names {
				x.Error("what is not there lacks rights")
			}
		},
		"a shadow knows what is refused": func(x *tester) {
			x.mkdir("shut")
			x.write("shut/f", "text")
			x.write("f", "text")
			x.must(x.SetMeta(x.at("shut"), host.Meta{Mode: new(fs.FileMode(0o500))}))
			for _, try := range []struct {
				name string
				act  func(host.Host) error
			}{
				{"write there", func(h host.Host) error {
					return h.WriteFile(x.Context(), x.at("shut/new"), host.Text(""), host.Meta{})
				}},
				{"replace there", func(h host.Host) error {
					return h.WriteFile(x.Context(), x.at("shut/f"), host.Text(""), host.Meta{})
				}},
				{"mkdir there", func(h host.Host) error { return h.Mkdir(x.at("shut/d"), host.Meta{}) }},
				{"symlink there", func(h host.Host) error { return h.Symlink("f", x.at("shut/l"), host.Meta{}) }},
				{"give away", func(h host.Host) error { return h.SetMeta(x.at("f"), host.Meta{UID: new(12346)}) }},
				{"give to a group", func(h host.Host) error { return h.SetMeta(x.at("f"), host.Meta{GID: new(12347)}) }},
				{"mode there", func(h host.Host) error {
					return h.SetMeta(x.at("shut/f"), host.Meta{Mode: new(fs.FileMode(0o600))})
				}},
				{"remove there", func(h host.Host) error { return h.Remove(x.at("shut/f")) }},
			} {
				shadow := host.NewShadow(x.Host)
				x.must(try.act(shadow))
				refused, changes := shadow.Refusals()
				err := try.act(x.Host)
				denied := err != nil
				if below, ok := x.Host.(*host.Shadow); ok { // it notes what would be denied, too
					noted, _ := below.Refusals()
					denied = len(noted) > 0
				}
				if denied != (len(refused) > 0) || changes == 0 {
					x.Errorf("%s: the host says %v, the shadow %d refusals of %d changes", try.name, err, len(refused), changes)
				}
			}
			x.must(x.SetMeta(x.at("shut"), host.Meta{Mode: new(fs.FileMode(0o700))})) // for who cleans up
		},
	}
}
