// Package internal_test holds the rules that the whole project keeps.
package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const project = "github.com/tenetcm/tenet/"

// imports is the architecture: the packages of the project that a package may
// import, and those that its tests may import besides. A name ending in "/*"
// stands for the packages right below, "/..." for all below, "*" for anything.
// The first line that fits a package counts.
var imports = []struct {
	name  string
	may   []string
	tests []string
}{
	{"lang/diag", nil, nil},
	// JSON as it is written everywhere.
	{"internal/plainjson", nil, nil},
	// Programs that this one runs, within bounds.
	{"internal/child", nil, nil},
	// Files of the program itself, replaced in one step.
	{"internal/atomicfile", nil, nil},
	// Texts, line by line.
	{"internal/linediff", nil, []string{"internal/rapidtest"}},
	// Files of a site, where they were sent to.
	{"internal/sitefiles", []string{"lang/diag"}, nil},
	// Numbers for those who watch.
	{"internal/telemetry", nil, nil},
	{"internal/telemetry/collectortest", nil, nil},
	// Packages: archives of them, registries and signatures.
	{"packages/archive", []string{"internal/sitefiles", "lang/diag"}, nil},
	{"packages/oci", []string{"lang/diag", "packages/archive"}, []string{"packages/oci/registrytest"}},
	{"packages/oci/registrytest", nil, nil},
	{"packages/signature", []string{"lang/diag"}, nil},
	{"packages/git", []string{"internal/child", "internal/sitefiles", "lang/diag", "runtime/fault"}, []string{"packages/git/gittest"}},
	{"packages/git/gittest", nil, nil},
	// What a site has of them.
	{"packages/lock", []string{"lang/diag", "lang/expr"}, []string{"internal/rapidtest"}},
	{"packages", []string{"lang", "lang/diag", "packages/archive", "packages/lock", "packages/signature"}, []string{"*"}},
	// Whatever downloads.
	{"packages/get", []string{"internal/sitefiles", "lang", "lang/diag", "packages", "packages/*"}, []string{"*"}},
	// Panics, wherever a goroutine is begun.
	{"runtime/fault", []string{"lang/diag", "internal/version"}, nil},
	// Network devices: of the kernel, in memory, and as a plan would change them.
	{"runtime/host/links", nil, nil},
	{"runtime/host", []string{"lang/diag", "runtime/fault", "runtime/host/links"}, []string{"runtime/host/hosttest"}},
	// What hosts say about themselves.
	{"runtime/host/facts", []string{"runtime/host", "lang/diag"}, nil},
	{"runtime/host/...", []string{"runtime/host", "runtime/host/links"}, nil},
	{"states", []string{"internal/plainjson", "lang/diag", "lang/site", "runtime/host"}, nil},
	{"states/conformance", []string{"lang/diag", "states", "runtime/host", "runtime/host/links"}, []string{"*"}},
	{"states/statestest", []string{"states", "states/conformance", "runtime/host"}, nil},
	{"modules", []string{"modules/*", "states"}, []string{"*"}},
	// A machine for tests: no module, and only their own tables of accounts and mounts.
	{"modules/simulated", []string{"runtime/host", "runtime/host/facts", "runtime/host/links", "modules/internal/accounts", "modules/internal/fstab"}, []string{"*"}},
	{"modules/internal/fake", []string{"runtime/host", "modules/simulated"}, nil},
	{"modules/internal/...", []string{"runtime/fault", "states", "runtime/host", "runtime/host/links", "modules/internal/...", "lang/diag"}, nil},
	// Modules written in Starlark, which a site brings along.
	{"modules/custom", []string{"states", "runtime/host", "modules/internal/...", "lang/diag", "lang/expr", "lang/sandbox"}, []string{"*"}},
	// The tests of modules, and of what they share.
	{"modules/moduletest", nil, []string{"lang/diag", "modules/*", "modules/internal/...", "runtime/host", "runtime/host/links", "states", "states/statestest"}},
	{"modules/*", []string{"internal/plainjson", "lang/diag", "runtime/fault", "states", "runtime/host", "runtime/host/links", "modules/internal/..."}, []string{"states/statestest"}},
	{"lang/sandbox", []string{"lang/diag"}, nil},
	// What people write who know other tools: data, of use wherever a mistake
	// is found.
	{"lang/foreign", nil, nil},
	// Hosts, groups and rollouts: plain data, whoever works with them.
	{"lang/site", []string{"lang/diag"}, nil},
	{"lang/expr", []string{"lang/diag", "lang/foreign", "lang/site", "states"}, nil},
	// Hosts that are told of outside of a site: text in, data out.
	{"lang/inventory", []string{"lang/diag", "lang/document", "lang/expr", "lang/site"}, nil},
	// Documents of data, with places.
	{"lang/document", []string{"lang/diag"}, []string{"internal/rapidtest"}},
	// The tree that the front-ends make, and what evaluates it whatever language
	// it came from.
	{"lang/syntax", []string{"lang/diag", "lang/expr", "states"}, nil},
	{"lang/program", []string{"runtime/fault", "lang/diag", "lang/document", "lang/expr", "lang/foreign", "lang/inventory", "lang/site", "lang/syntax", "rules", "states"}, nil},
	{"lang/hcl", []string{"runtime/fault", "lang/diag", "lang/expr", "lang/foreign", "lang/syntax", "states"}, nil},
	{"lang/star", []string{"lang/diag", "lang/expr", "lang/foreign", "lang/sandbox", "lang/syntax", "states"}, []string{"runtime/host"}},
	// Files of secrets, whoever asks for them: the language does by a function.
	{"lang/secrets", []string{"internal/plainjson", "lang/diag"}, nil},
	// A site brings modules of its own along.
	{"lang", []string{"lang/*", "states", "stdlib", "modules/custom"}, []string{"graph", "modules", "runtime/host", "stdlib"}},
	// What differs between documents, and which rule that is about: pure.
	{"rules", nil, []string{"internal/rapidtest"}},
	{"graph", []string{"internal/plainjson", "states", "lang/diag"}, []string{"runtime/host"}},
	// The journal is the engine's own; files go through the Host there too.
	{"runtime/journal", []string{"lang/site", "internal/plainjson", "lang/diag", "runtime/fault", "states", "runtime/host"}, nil},
	// A plan is carried about with all that an apply needs, encrypted like secrets.
	{"runtime/planfile", []string{"internal/plainjson", "states", "graph", "runtime/host", "runtime/journal", "runtime/machine", "lang/diag", "lang/secrets", "lang/site"}, []string{"*"}},
	{"runtime", []string{"internal/linediff", "internal/plainjson", "runtime/fault", "states", "graph", "lang/diag", "lang/expr", "rules", "runtime/host", "runtime/journal"}, []string{"*"}},
	// What can be asked of a machine, and what it answers: data, of which the records are a part.
	{"runtime/machine", []string{"lang/site", "states", "lang/diag", "runtime/journal", "runtime/reconcile", "runtime/source"}, []string{"*"}},
	// What is set up on a machine, as a site would declare it. It is data of the machine, and writes no language.
	{"runtime/importer", []string{"lang/diag", "lang/expr", "runtime/host", "runtime/machine", "states"}, []string{"*"}},
	// The suite that every machine passes, for go test alone.
	{"runtime/machine/machinetest", []string{"lang/site", "runtime/fault", "runtime/machine", "runtime/journal", "states"}, nil},
	// The keys of hosts, servers and people, and what they sign: plain data.
	{"runtime/trust", nil, []string{"*"}},
	// What a server and its agents say to one another: pure, so that it can be simulated.
	{"runtime/control", []string{"runtime/trust", "states"}, []string{"*"}},
	// The way between an agent and its server, a machine at the other end of it, and what runs on a host.
	{"runtime/link", []string{"runtime/fault", "runtime/trust"}, []string{"*"}},
	{"runtime/link/...", []string{"lang/diag", "runtime/fault", "runtime/link", "runtime/trust"}, []string{"*"}},
	{"runtime/channel", []string{"lang/diag", "runtime/fault", "runtime/link", "runtime/machine", "runtime/trust", "runtime/wire"}, []string{"*"}},
	{"runtime/agent/identity", []string{"internal/atomicfile", "internal/plainjson", "lang/diag", "runtime/fault", "runtime/trust"}, []string{"*"}},
	// What an agent has accepted, for all that acts on its host.
	{"runtime/agent/held", []string{"runtime/trust"}, nil},
	// The programs that an agent may run.
	{"runtime/agent/programs", []string{"internal/atomicfile", "internal/plainjson", "lang/diag", "runtime/trust"}, []string{"*"}},
	{"runtime/agent/daemon", []string{"internal/child", "internal/plainjson", "lang/diag", "runtime/*", "runtime/agent/identity", "runtime/agent/programs", "runtime/link/nats", "states"}, []string{"*"}},
	{"runtime/agent", []string{"internal/atomicfile", "internal/plainjson", "lang/diag", "lang/site", "runtime/*", "runtime/agent/*", "runtime/link/*", "states"}, []string{"*"}},
	// Ways to machines. What is said on a connection, what is carried over it, the machine in
	// this process, one behind a connection, how that is made, and many machines.
	{"runtime/wire", []string{"runtime/fault", "states", "runtime/machine"}, []string{"*"}},
	{"runtime/bundle", []string{"internal/atomicfile", "runtime/fault", "states", "runtime/host", "runtime/journal", "runtime/machine", "runtime/planfile", "runtime/trust", "runtime/wire"}, []string{"*"}},
	// How one account acts as another, here and on other machines.
	{"runtime/privilege", []string{"runtime/fault", "lang/diag"}, []string{"*"}},
	{"runtime/privilege/privilegetest", nil, nil},
	{"runtime/become", []string{"lang/diag", "runtime/fault", "runtime/host", "runtime/host/links", "runtime/privilege", "runtime/wire"}, []string{"*"}},
	{"runtime/runner", []string{"lang/site", "internal/atomicfile", "internal/plainjson", "runtime/fault", "states", "graph", "lang/diag", "modules/custom", "runtime", "runtime/host", "runtime/host/facts", "runtime/importer", "runtime/journal",
		"runtime/machine", "runtime/planfile", "runtime/privilege", "runtime/reconcile", "runtime/source", "runtime/wire", "runtime/bundle", "runtime/become", "runtime/agent/held"}, []string{"*"}},
	{"runtime/ssh", []string{"internal/atomicfile", "lang/diag", "runtime/fault", "runtime/privilege", "runtime/wire"}, []string{"*"}},
	{"runtime/remote", []string{"lang/diag", "runtime/fault", "states", "runtime/importer", "runtime/journal", "runtime/machine", "runtime/reconcile", "runtime/wire", "runtime/bundle"}, []string{"*"}},
	// Whose turn it is, in a fleet and on a server: pure.
	{"runtime/rollout", []string{"lang/diag", "lang/site"}, []string{"*"}},
	{"runtime/cluster", []string{"lang/site", "runtime/journal", "states"}, []string{"*"}},
	{"runtime/fleet", []string{"internal/plainjson", "internal/atomicfile", "runtime/fault", "lang/diag", "lang/site", "states", "runtime/machine", "runtime/rollout"}, []string{"*"}},
	// A site on machines: the language and the ways to machines meet here.
	{"runtime/orchestrate", []string{"graph", "lang", "lang/diag", "lang/secrets", "runtime/fleet", "runtime/machine", "states"}, []string{"*"}},
	// How a machine is kept as one site wants it: pure but for the records of it.
	{"runtime/reconcile", []string{"internal/atomicfile", "lang/diag", "lang/site", "states"}, []string{"internal/rapidtest"}},
	// A device of a fleet manager of Margo: what is said, by version; the device; a manager for its tests.
	{"runtime/source", []string{"internal/atomicfile", "internal/sitefiles", "lang/diag", "lang/site"}, nil},
	{"runtime/source/sourcetest", []string{"runtime/source"}, nil},
	{"runtime/source/folder", []string{"internal/sitefiles", "lang/diag", "runtime/source"}, []string{"runtime/source/sourcetest"}},
	{"runtime/source/repository", []string{"lang/diag", "packages/git", "packages/signature", "runtime/source"}, []string{"packages/git/gittest", "runtime/source/sourcetest"}},
	{"runtime/source/margo/rc2", []string{"internal/plainjson", "lang/diag", "lang/document"}, nil},
	{"runtime/source/margo/managertest", []string{"runtime/source/margo/rc2"}, nil},
	{"runtime/source/margo/compose", []string{"internal/atomicfile", "lang/diag", "packages/oci", "runtime/source/margo", "runtime/source/margo/rc2", "states"}, []string{"lang", "modules", "packages/oci/registrytest", "runtime/host", "stdlib"}},
	{"runtime/source/margo", []string{"internal/atomicfile", "internal/plainjson", "lang/diag", "lang/site", "runtime/source", "runtime/source/margo/rc2"}, []string{"runtime/source/margo/managertest"}},
	// What runs do, as a collector is told of it.
	{"runtime/otlp", []string{"internal/telemetry", "runtime/fault", "states"}, []string{"*"}},
	// What comes around again, of whatever is done.
	{"runtime/watch", []string{"states"}, []string{"*"}},
	// The server. What it keeps, by which engine: no more than that.
	{"server/store", []string{"lang/diag", "runtime/fault"}, nil},
	{"server/store/storetest", []string{"lang/diag", "runtime/fault", "server/store"}, nil},
	{"server/contents", []string{"internal/atomicfile", "lang/diag", "runtime/fault", "server/store"}, []string{"server/contents/contentstest", "server/store/sqlite"}},
	{"server/contents/contentstest", []string{"runtime/fault", "server/contents"}, nil},
	{"server/store/postgres", []string{"lang/diag", "runtime/fault", "server/store"}, []string{"server/contents", "server/contents/contentstest", "server/store/postgres/postgrestest", "server/store/sqlite", "server/store/storetest"}},
	{"server/store/postgres/postgrestest", nil, nil},
	{"server/store/open", []string{"lang/diag", "server/store", "server/store/postgres", "server/store/sqlite"}, nil},
	{"server/store/*", []string{"lang/diag", "runtime/fault", "server/store"}, []string{"server/store/storetest"}},
	{"server/limit", nil, nil},
	{"server/broker", []string{"lang/diag", "runtime/fault", "runtime/link", "runtime/trust"}, []string{"*"}},
	{"server/broker/carrier", []string{"lang/diag", "runtime/fault", "runtime/link", "runtime/trust", "server/broker"}, []string{"*"}},
	{"server/broker/...", []string{"internal/atomicfile", "lang/diag", "runtime/fault", "runtime/link", "runtime/link/*", "runtime/trust", "server/broker", "server/broker/carrier", "server/limit"}, []string{"*"}},
	// Keys of the server, and whom hosts trust.
	{"server/authority", []string{"internal/atomicfile", "lang/diag", "runtime/fault", "runtime/trust", "server/store"}, []string{"*"}},
	// People, what they may do, and what they have done.
	{"server/access", []string{"internal/atomicfile", "internal/child", "internal/plainjson", "lang/diag", "runtime/fault", "server/limit", "server/store"}, []string{"*"}},
	// A provider of identity for tests.
	{"server/access/accesstest", nil, nil},
	// Hosts and their states; sessions of their agents; what is wanted of them.
	{"server/enroll", []string{"internal/child", "lang/diag", "runtime/agent/identity", "runtime/fault", "runtime/link", "runtime/trust", "server/access", "server/authority", "server/contents", "server/limit", "server/store"}, []string{"*"}},
	{"server/sessions", []string{"lang/diag", "runtime/*", "server/access", "server/authority", "server/broker", "server/contents", "server/enroll", "server/store", "states"}, []string{"*"}},
	{"server/evaluate", []string{"graph", "packages", "internal/child", "internal/plainjson", "internal/watchdog", "lang", "lang/*", "modules", "runtime/*", "states"}, []string{"*"}},
	{"server/deploy", []string{"internal/linediff", "internal/plainjson", "internal/sitefiles", "lang/diag", "lang/site", "runtime/*", "internal/ui/grouping", "server/*", "states"}, []string{"*"}},
	{"server/follow", []string{"internal/atomicfile", "internal/sitefiles", "lang/diag", "lang/site", "packages/git", "runtime/fault", "runtime/rollout", "runtime/source", "runtime/source/*", "server/access", "server/deploy", "server/store", "states"}, []string{"*"}},
	{"server/update", []string{"lang/diag", "lang/site", "runtime/*", "server/*"}, []string{"*"}},
	{"server/api/client", []string{"states", "internal/atomicfile", "internal/ui/grouping", "lang/diag", "runtime/*", "internal/plainjson"}, []string{"*"}},
	// A site, evaluated and signed by an operator.
	{"server/signing", []string{"internal/atomicfile", "lang/diag", "lang/secrets", "lang/site", "runtime/control", "runtime/trust", "server/api/client", "server/evaluate"}, []string{"*"}},
	{"server/api", []string{"internal/plainjson", "internal/telemetry", "lang/diag", "lang/site", "runtime/*", "server/*", "states"}, []string{"*"}},
	// The pages: a client of the API within the process.
	{"server/web/webtest", []string{"runtime/fault"}, nil},
	{"server/web", []string{"internal/ui/*", "lang/diag", "runtime/*", "server/access", "server/api", "server/deploy", "server/enroll", "server/follow", "server/sessions", "server/update", "states"}, []string{"*"}},
	{"server", []string{"*"}, []string{"*"}},
	// A component is tried out as it is used: compiled, and applied in memory.
	{"stdlib", nil, []string{"*"}},
	{"cmd/tenet", []string{"internal/cli", "internal/collection", "internal/services"}, nil},
	// What is brought to hosts: no language, and no command line for people.
	{"cmd/tenet-agent", []string{"internal/agentcmd"}, nil},
	{"cmd/tenet-runner", []string{"modules", "runtime/runner", "internal/version"}, nil},
	{"internal", nil, []string{"*"}},
	{"internal/...", []string{"*"}, nil},
	{"bench/...", []string{"*"}, nil},
	{"bench", []string{"*"}, nil},
	{"examples", nil, []string{"*"}},
	// Pages for people, as data.
	{"docs", nil, nil},
}

func fits(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(name, dir+"/")
	}
	if dir, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(name) == dir
	}
	return pattern == "*" || pattern == name
}

// file is one Go file of the project.
type file struct {
	name string // from the project's root
	dir  string
	test bool
	ast  *ast.File
	fset *token.FileSet
}

func files(t *testing.T) []file {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d files", len(all))
	}
	return all
}

var parsed = sync.OnceValues(func() ([]file, error) {
	var all []file
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, filepath.Join("..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, file{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), parsed, fset})
		return err
	})
	return all, err
})

func (f file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err)
		}
		out = append(out, name)
	}
	return out
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range files(t) {
		k := slices.IndexFunc(imports, func(rule struct {
			name  string
			may   []string
			tests []string
		}) bool {
			return fits(rule.name, f.dir)
		})
		if k < 0 {
			t.Errorf("%s: the package has no line in the table", f.name)
			continue
		}
		may := imports[k].may
		if f.test {
			may = slices.Concat(may, imports[k].tests, []string{f.dir, "internal/rapidtest"})
		}
		for _, name := range f.imports() {
			name, own := strings.CutPrefix(name, project)
			if own && !slices.ContainsFunc(may, func(p string) bool { return fits(p, name) }) {
				t.Errorf("%s imports %s, which the table does not allow", f.name, name)
			}
		}
	}
}

// The Host is a module's only way out.
func TestModulesHaveNoOtherWayOut(t *testing.T) {
	for _, f := range files(t) {
		if f.test || !strings.HasPrefix(f.dir, "modules/") {
			continue
		}
		for _, name := range f.imports() {
			switch name {
			case "os", "os/exec", "os/user", "net", "net/http", "syscall", "path/filepath", "io/ioutil":
				t.Errorf("%s imports %s", f.name, name)
			}
		}
	}
}

// Nothing is kept in packages: a variable there is an error, a declared
// module, a pattern or a table made once it is asked for, embedded files or what the
// linker has set (internal/version), none of which ever changes.
func TestNoPackageLevelState(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.dir == "internal/version" {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.Name == "init" && decl.Recv == nil {
					t.Errorf("%s has an init function", f.name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR && !constant(decl, v) {
						t.Errorf("%s: package-level variable %s", f.fset.Position(v.Pos()), v.Names[0].Name)
					}
				}
			}
		}
	}
}

// Patterns are compiled in each run of the program that asks for them, and a repetition
// that counts far is compiled as often as it counts.
func TestPatternsCompileQuickly(t *testing.T) {
	counts := regexp.MustCompile(`\{\d*,?\d{2,}\}`)
	for _, f := range files(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			selector, _ := call.Fun.(*ast.SelectorExpr)
			pattern, isText := call.Args[0].(*ast.BasicLit)
			if selector != nil && isText && selector.Sel.Name == "MustCompile" && counts.MatchString(pattern.Value) {
				t.Errorf("%s: %s counts far: match any number, and look at the length", f.fset.Position(call.Pos()), pattern.Value)
			}
			return true
		})
	}
}

func constant(decl *ast.GenDecl, v *ast.ValueSpec) bool {
	if v.Names[0].Name == "_" {
		return true
	}
	if decl.Doc != nil && strings.Contains(decl.Doc.List[len(decl.Doc.List)-1].Text, "//go:embed") {
		return true
	}
	for _, value := range v.Values {
		call, ok := value.(*ast.CallExpr)
		if !ok {
			return false
		}
		fun := call.Fun
		if index, ok := fun.(*ast.IndexExpr); ok {
			fun = index.X
		}
		selector, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		of, ok := selector.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch of.Name + "." + selector.Sel.Name {
		case "errors.New", "fmt.Errorf", "states.Define", "uuid.MustParse", "cty.Capsule", "cty.CapsuleWithOps", "sync.OnceValue":
		default:
			return false
		}
	}
	return len(v.Values) > 0
}
