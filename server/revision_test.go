package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/api/client"
)

// Files of revisions are listed and compared; what is encrypted, a key, binary or big is named and not shown, and who may not read all hosts of the site sees none.
func TestRevisionFiles(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	first := p.files("one")
	maps.Copy(first, map[string]string{"gone.txt": "a\nb\n", "note.txt": "same\n", "conf/app.conf": "x = 1\ny = 2\n", "key.pem": "-----BEGIN PRIVATE KEY-----\nhunter2 is the password\n", "blob": "a\x00b", "big": "x"})
	one := p.upload(first)
	second := p.files("two")
	maps.Copy(second, map[string]string{"new.txt": "c\n", "note.txt": "same\n", "conf/app.conf": "x = 1\ny = 3\n", "key.pem": "-----BEGIN PRIVATE KEY-----\nother\n", "blob": "a\x00c", "big": strings.Repeat("y\n", 200_000)})
	two := p.upload(second)
	names := map[string]client.SiteFile{}
	for f, err := range p.ops.Files(t.Context(), "shop", one.Number, 0, "") {
		must(t, err)
		names[f.Name] = f
	}
	if len(names) != 8 || names["note.txt"].Size != 5 || len(names["note.txt"].Digest) != 64 || names["note.txt"].Change != nil {
		t.Errorf("the files are %+v", names)
	}
	got := map[string]string{}
	for f, err := range p.ops.Files(t.Context(), "shop", two.Number, one.Number, "") {
		must(t, err)
		got[f.Name] = strings.TrimSpace(f.Change.Kind + " " + f.Change.Hidden)
		if text, err := json.Marshal(f); err != nil || strings.Contains(string(text), plaintext) || (f.Change.Hidden != "") == (f.Change.Diff != "") {
			t.Errorf("%s is shown as %s: %v", f.Name, text, err)
		}
		if f.Name == "conf/app.conf" && f.Change.Diff != "@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n" {
			t.Errorf("the diff is %q", f.Change.Diff)
		}
	}
	want := map[string]string{"gone.txt": "removed", "new.txt": "added", "conf/app.conf": "changed", "key.pem": "changed key", "blob": "changed binary", "big": "changed large", "site.hcl": "changed", "secrets.age": "changed encrypted"}
	if !maps.Equal(got, want) {
		t.Errorf("there differ %v, not %v", got, want)
	}
	n := 0
	for f, err := range p.ops.Files(t.Context(), "shop", two.Number, one.Number, "conf/") {
		must(t, err)
		n++
		if f.Name != "conf/app.conf" {
			t.Error(f.Name)
		}
	}
	if n != 1 {
		t.Errorf("%d files begin so", n)
	}
	for _, path := range []int64{one.Number, 99} {
		for _, err := range p.person(fmt.Sprint("web", path), "read@web*").Files(t.Context(), "shop", path, 0, "") {
			if diag.CodeOf(err) != access.CodeNotFound {
				t.Errorf("who may read web* alone gets %v", err)
			}
		}
	}
}

// A revision tells what evaluating it has said: for which hosts it is wrong, with the file and the line.
func TestRevisionTellsWhatIsWrong(t *testing.T) {
	p := openPlace{newSignedPlace(t, "web1")}
	p.Deployments.Evaluate = p
	d := p.deployOpen(`file "/etc/wrong" { mode = fact("nothing") }`, client.DeployRequest{})
	p.awaitPhase(d.ID, "it is refused", func(d client.Deployment) bool { return d.Phase == "failed" })
	r, err := p.ops.Revision(t.Context(), "shop", d.Revision)
	must(t, err)
	if len(r.Errors) == 0 || r.Errors[0].Count != 1 || len(r.Errors[0].Hosts) != 1 || r.Errors[0].Hosts[0] != "web1" || r.Errors[0].File != "site.hcl" || r.Errors[0].Line < 5 || len(r.Signers) != 0 || r.Number != d.Revision {
		t.Errorf("it says %+v", r)
	}
	if r, err := p.person("dora", "read@db*").Revision(t.Context(), "shop", d.Revision); err != nil || len(r.Errors) != 0 {
		t.Errorf("who may not read web1 is told %+v: %v", r, err)
	}
	if _, err := p.ops.Revision(t.Context(), "shop", 99); diag.CodeOf(err) != access.CodeNotFound {
		t.Errorf("there is no such revision: %v", err)
	}
}
