package get_test

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/tenetcm/tenet/graph"
	"github.com/tenetcm/tenet/lang"
	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules"
	"github.com/tenetcm/tenet/packages"
	"github.com/tenetcm/tenet/packages/archive"
	"github.com/tenetcm/tenet/packages/get"
	"github.com/tenetcm/tenet/packages/git"
	"github.com/tenetcm/tenet/packages/lock"
	"github.com/tenetcm/tenet/packages/oci"
	"github.com/tenetcm/tenet/packages/oci/registrytest"
	"github.com/tenetcm/tenet/packages/signature"
)

// place is a site with a registry and a cache.
type place struct {
	*testing.T
	registry *registrytest.Registry
	dir      string
	cache    string
	root     *os.Root
	signers  *get.Signers
	// repositories asks repositories of Git; nil: there are none.
	repositories *git.Client
}

// newPlace makes a site whose sources may name the registry as REGISTRY.
func newPlace(t *testing.T, site map[string]string) *place {
	p := &place{T: t, registry: registrytest.New(t, registrytest.Options{}), dir: t.TempDir(), cache: t.TempDir()}
	p.write(p.dir, site)
	root, err := os.OpenRoot(p.dir)
	p.must(err)
	t.Cleanup(func() { _ = root.Close() })
	p.root = root
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) write(dir string, files map[string]string) {
	p.Helper()
	for name, text := range files {
		p.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		p.must(os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "REGISTRY", p.registry.Host)), 0o644))
	}
}

// push pushes files as a package, in the place of what the tag stood for.
func (p *place) push(reference string, files map[string]string) oci.Package {
	p.Helper()
	dir := p.TempDir()
	p.write(dir, files)
	var packed bytes.Buffer
	_, err := archive.Write(&packed, os.DirFS(dir))
	p.must(err)
	ref, err := oci.ParseReference("oci://" + p.registry.Host + "/" + reference)
	p.must(err)
	pushed, _, err := (&oci.Client{}).Push(p.Context(), ref, bytes.NewReader(packed.Bytes()), oci.PushOptions{Overwrite: true})
	p.must(err)
	return pushed
}

func (p *place) origins() map[string]get.Origin {
	all := map[string]get.Origin{oci.Scheme: get.Registries{Client: &oci.Client{}}}
	if p.repositories != nil {
		all[git.Prefix] = get.Repositories{Client: p.repositories}
	}
	return all
}

// get brings the packages, and writes the lock if all are there.
func (p *place) get(updates, vendors bool) (*lock.Lock, []get.Change, error) {
	p.Helper()
	g := &get.Getter{Site: p.root.FS(), Cache: p.cache, Origins: p.origins(), Signers: p.signers,
		Updates: func(string) bool { return updates }}
	_, problem := p.parts(g.Open(p.Context()))
	now, err := g.Lock()
	if err = cmp.Or(err, problem); err != nil {
		return nil, nil, err
	}
	former, err := g.Former()
	p.must(err)
	if vendors {
		p.must(g.Vendor(p.root, now))
	}
	p.must(os.WriteFile(filepath.Join(p.dir, lock.Name), now.Bytes(), 0o644))
	return now, get.Changes(former, now), nil
}

// parts gives the addresses of all parts of the site.
func (p *place) parts(open func(string) (*lang.Package, error)) (list []string, err error) {
	loaded, found := lang.Load(p.root.FS(), lang.Options{Registry: modules.Standard(), OpenPackage: open})
	if found.HasErrors() {
		return nil, found.Err()
	}
	declared, found := loaded.Evaluate(p.Context(), lang.Target{Host: "h"})
	if found.HasErrors() {
		return nil, found.Err()
	}
	compiled, found := graph.Compile(declared, graph.Options{Registry: modules.Standard()})
	if found.HasErrors() {
		return nil, found.Err()
	}
	for _, inv := range compiled.Run.Invocations {
		for _, part := range inv.Parts {
			list = append(list, part.Address)
		}
	}
	return list, nil
}

// offline gives the parts by what is in the directory, and in a cache.
func (p *place) offline(cache string) ([]string, error) {
	return p.parts((&packages.Opener{Site: p.root.FS(), Cache: cache}).Open)
}

func threePackages(t *testing.T) *place {
	p := newPlace(t, map[string]string{"site.hcl": `
component "web" {
  source = "oci://REGISTRY/acme/web:1"
}
component "motd" {
  source = "oci://REGISTRY/acme/motd:2"
}
collection "net" {
  source = "oci://REGISTRY/acme/net:1.0"
}
component "vlan" {
  source = "net/vlan"
}
`})
	p.push("acme/web:1", map[string]string{"main.hcl": "component \"page\" {\n source = \"oci://REGISTRY/acme/page:1\"\n}\n"})
	p.push("acme/page:1", map[string]string{"main.hcl": "file \"/page\" {\n content = \"one\"\n}\n"})
	p.push("acme/motd:2", map[string]string{"main.star": "file(\"/motd\", content = \"hello\")\n"})
	p.push("acme/net:1.0", map[string]string{"vlan/main.hcl": "component \"base\" {\n source = \"../base\"\n}\n", "base/main.hcl": "file \"/vlan\" {\n content = \"v\"\n}\n", "vendor/left.txt": "out"})
	return p
}

// A nested package, one in Starlark and a collection: resolved, vendored, planned without the registry, updated, and refused when one byte differs.
func TestThreePackages(t *testing.T) {
	p := threePackages(t)
	if _, err := p.offline(p.cache); err == nil || !strings.Contains(err.Error(), "is not in tenet.lock") {
		t.Fatalf("before tenet get: %v", err)
	}
	l, changes, err := p.get(false, false)
	p.must(err)
	if len(l.Packages) != 4 || len(changes) != 4 {
		t.Fatalf("the lock has %d packages, and %d changes are told", len(l.Packages), len(changes))
	}
	want := []string{`component.motd.file["/motd"]`, `component.vlan.component.base.file["/vlan"]`, `component.web.component.page.file["/page"]`}
	expect := func(when, cache string) {
		t.Helper()
		got, err := p.offline(cache)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}
	expect("from the cache", p.cache)
	if _, err := p.offline(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not here") || !strings.Contains(err.Error(), "tenet get") {
		t.Errorf("without the cache: %v", err)
	}

	// All that is locked needs no registry, to vendor it neither.
	p.registry.Change(func(o *registrytest.Options) { o.User, o.Password = "nobody", "knows" })
	_, changes, err = p.get(false, true)
	p.must(err)
	if len(changes) > 0 {
		t.Errorf("nothing has changed, and it tells %v", changes)
	}
	expect("vendored", "")
	p.registry.Change(func(o *registrytest.Options) { o.User, o.Password = "", "" })

	// A tag that stands for other files changes nothing until it is updated.
	p.push("acme/page:1", map[string]string{"main.hcl": "variable \"colour\" {}\nfile \"/page\" {\n content = \"two\"\n}\n"})
	before := p.lockText()
	_, changes, err = p.get(false, true)
	p.must(err)
	if len(changes) > 0 || p.lockText() != before {
		t.Errorf("without --update: %v", changes)
	}
	_, _, err = p.get(true, true)
	if err == nil || !strings.Contains(err.Error(), "colour") {
		t.Fatalf("its input has no value: %v", err)
	}
	p.push("acme/page:1", map[string]string{"main.hcl": "variable \"colour\" {\n default = \"red\"\n}\nfile \"/page\" {\n content = \"two\"\n}\n"})
	_, changes, err = p.get(true, true)
	p.must(err)
	if len(changes) != 1 || !strings.HasSuffix(changes[0].Source, "acme/page:1") || changes[0].Former == nil {
		t.Fatalf("updated: %+v", changes)
	}
	expect("updated", "")

	// One byte of what is vendored, or of the cache.
	page := filepath.Join(p.dir, "vendor", "oci", strings.ReplaceAll(p.registry.Host, ":", "%3A"), "acme", "page@1", "main.hcl")
	p.must(os.WriteFile(page, []byte("variable \"colour\" {\n default = \"red\"\n}\nfile \"/page\" {\n content = \"twO\"\n}\n"), 0o644))
	if _, err := p.offline(p.cache); err == nil || !strings.Contains(err.Error(), "are not those of tenet.lock") {
		t.Errorf("a vendored file differs: %v", err)
	}
	_, _, err = p.get(false, true) // brings back what the lock says
	p.must(err)
	expect("brought back", "")
	p.must(os.MkdirAll(filepath.Join(filepath.Dir(page), "vendor"), 0o755))
	if _, err := p.offline(p.cache); err == nil || !strings.Contains(err.Error(), "vendor") {
		t.Errorf("a package has files that the digest leaves out: %v", err)
	}
	p.must(os.RemoveAll(filepath.Join(p.dir, "vendor")))
	expect("from the cache again", p.cache)
	err = filepath.WalkDir(p.cache, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "main.star" {
			err = os.WriteFile(path, []byte("file(\"/motd\", content = \"hellO\")\n"), 0o644)
		}
		return err
	})
	p.must(err)
	if _, err := p.offline(p.cache); err == nil || !strings.Contains(err.Error(), "acme/motd:2") || !strings.Contains(err.Error(), "are not those of tenet.lock") {
		t.Errorf("a file of the cache differs: %v", err)
	}
	_, _, err = p.get(false, false)
	p.must(err)
	expect("repaired", p.cache)
}

func (p *place) lockText() string {
	data, err := os.ReadFile(filepath.Join(p.dir, lock.Name))
	p.must(err)
	return string(data)
}

// What has been pushed in the place of a locked package is not taken, and neither is one that has gone.
func TestLockedPackageGoes(t *testing.T) {
	p := threePackages(t)
	_, _, err := p.get(false, false)
	p.must(err)
	p.cache = t.TempDir()
	p.push("acme/motd:2", map[string]string{"main.star": "file(\"/motd\", content = \"evil\")\n"})
	_, changes, err := p.get(false, false) // the manifest is there still, by its digest
	p.must(err)
	if len(changes) > 0 {
		t.Errorf("it tells %v", changes)
	}
	if _, err := p.offline(p.cache); err != nil {
		t.Error(err)
	}
	p.cache = t.TempDir()
	l, list := lock.Read(lock.Name, []byte(p.lockText()))
	if list.HasErrors() {
		t.Fatal(list)
	}
	one := l.Packages[0]
	one.Digest = "sha256:" + strings.Repeat("0", 64)
	l.Set(one)
	p.must(os.WriteFile(filepath.Join(p.dir, lock.Name), l.Bytes(), 0o644))
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "not sha256:000") {
		t.Errorf("another digest than that of the lock: %v", err)
	}
}

// A site that names signers takes what one of them has signed, and nothing else.
func TestSigners(t *testing.T) {
	p := newPlace(t, map[string]string{"site.hcl": "site {\n name = \"s\"\n signers = \"signers\"\n}\ncomponent \"web\" {\n source = \"oci://REGISTRY/acme/web:1\"\n}\n"})
	pushed := p.push("acme/web:1", map[string]string{"main.hcl": "file \"/page\" {\n content = \"one\"\n}\n"})
	public, private, err := ed25519.GenerateKey(rand.Reader)
	p.must(err)
	signer, err := ssh.NewSignerFromKey(private)
	p.must(err)
	key, err := ssh.NewPublicKey(public)
	p.must(err)
	p.signers = &get.Signers{Name: "signers", Data: []byte("release@acme.example " + string(ssh.MarshalAuthorizedKey(key)))}
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "it is not signed") {
		t.Fatalf("nobody has signed it: %v", err)
	}
	other, err := signature.Sign("sha256:"+strings.Repeat("1", 64), signer)
	p.must(err)
	p.must((&oci.Client{}).Sign(t.Context(), pushed, other, ""))
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Fatalf("another package was signed: %v", err)
	}
	malformed := fmt.Sprintf(`{"schemaVersion": 2, "mediaType": %[1]q, "artifactType": %q, "layers": [], "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "size": 2},
		"subject": {"mediaType": %[1]q, "digest": %[3]q, "size": %[4]d}}`, "application/vnd.oci.image.manifest.v1+json", oci.SignatureType, pushed.Manifest, len(p.registry.Manifest("acme/web", pushed.Manifest)))
	p.registry.PutManifest("acme/web", "", "application/vnd.oci.image.manifest.v1+json", []byte(malformed))
	if _, _, err := p.get(false, false); err == nil || !strings.Contains(err.Error(), "does not fit") || !strings.Contains(err.Error(), "has not one layer of the type") {
		t.Fatalf("none is good, and of the malformed one is told: %v", err)
	}
	signed, err := signature.Sign(pushed.Digest, signer)
	p.must(err)
	p.must((&oci.Client{}).Sign(t.Context(), pushed, signed, ""))
	p.registry.Change(func(o *registrytest.Options) {
		o.Answer = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/sha256:") || strings.HasSuffix(r.URL.Path, pushed.Manifest) {
				return false
			}
			panic(http.ErrAbortHandler) // the connection breaks off
		}
	})
	if _, _, err := p.get(false, false); err == nil || strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "could not be fetched") || diag.CodeOf(err) != "unreachable" {
		t.Fatalf("the signature cannot be fetched: %v", err)
	}
	p.registry.Change(func(o *registrytest.Options) { o.Answer = nil })
	l, _, err := p.get(false, false)
	p.must(err)
	if got := l.Packages[0].Signer; got != "release@acme.example "+ssh.FingerprintSHA256(key) {
		t.Errorf("it is signed by %q", got)
	}
	if _, err := p.offline(p.cache); err != nil {
		t.Error(err)
	}
	unsigned := *l
	unsigned.Packages[0].Signer = ""
	p.must(os.WriteFile(filepath.Join(p.dir, lock.Name), unsigned.Bytes(), 0o644))
	if _, err := p.offline(p.cache); err == nil || !strings.Contains(err.Error(), "is not signed by anybody whom signers names") {
		t.Errorf("the lock says of nobody that he has signed: %v", err)
	}
}

// Vendoring writes and removes nothing outside of the directory, whatever lies there.
func TestVendorThroughLinks(t *testing.T) {
	for _, link := range []string{"vendor", "vendor/oci"} {
		p := threePackages(t)
		outside := t.TempDir()
		p.write(outside, map[string]string{"x@1/precious": "", "oci/x@1/precious": ""})
		p.must(os.MkdirAll(filepath.Dir(filepath.Join(p.dir, link)), 0o755))
		p.must(os.Symlink(outside, filepath.Join(p.dir, link)))
		g := &get.Getter{Site: p.root.FS(), Cache: p.cache, Origins: p.origins()}
		_, err := p.parts(g.Open(t.Context()))
		p.must(err)
		l, err := g.Lock()
		p.must(err)
		if err := g.Vendor(p.root, l); err == nil || !strings.Contains(err.Error(), "is no directory") {
			t.Errorf("%s is a link: %v", link, err)
		}
		left := map[string]bool{}
		_ = filepath.WalkDir(outside, func(path string, e fs.DirEntry, err error) error {
			left[strings.TrimPrefix(path, outside)] = true
			return err
		})
		if !left["/x@1/precious"] || !left["/oci/x@1/precious"] || len(left) != 6 {
			t.Errorf("outside there is %v", slices.Sorted(maps.Keys(left)))
		}
	}
}

// The interface of a package is what whoever uses it has to know.
func TestCompare(t *testing.T) {
	p := newPlace(t, nil)
	former, now := t.TempDir(), t.TempDir()
	p.write(former, map[string]string{"main.hcl": "variable \"a\" {\n type = string\n}\nvariable \"b\" {\n default = 1\n}\noutput \"o\" {\n value = 1\n}\nfile \"/x\" {\n content = \"\"\n}\n", "gone/main.hcl": "variable \"g\" {}\n"})
	p.write(now, map[string]string{"main.hcl": "variable \"a\" {\n type = number\n}\nvariable \"c\" {}\nfile \"/y\" {\n content = \"\"\n}\n", "tests/x.hcl": "variable \"t\" {}\n"})
	var got []string
	for _, d := range get.Compare(t.Context(), os.DirFS(former), os.DirFS(now), lang.Options{Registry: modules.Standard()}) {
		got = append(got, strings.TrimSpace(d.Sign+" "+d.Dir+" "+d.What+" "+d.Name+" "+d.Text))
	}
	want := []string{"~ . input a string, required → number, required", "- . input b", "+ . input c any, required", "- . output o", `- . state file["/x"]`, `+ . state file["/y"]`, "- gone input g"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
