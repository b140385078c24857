package simulated

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// needersDir is a directory with a file for each package that others need.
const needersDir = "/var/lib/simulated/needing/"

// Need makes packages need another one: they are removed with it.
func Need(ctx context.Context, h host.Host, name string, by ...string) error {
	return WriteFile(ctx, h, needersDir+name, strings.Join(by, "\n"), host.Meta{})
}

// unmet refuses a package that needs what nobody has.
func (p *program) unmet(name string) (host.Result, error) {
	name, _, _ = strings.Cut(name, "=")
	fmt.Fprintf(&p.out, "The following packages have unmet dependencies:\n %s : Depends: lib-of-%s but it is not installable\n", name, name)
	return p.fail(100, "E: Unable to correct problems, you have held broken packages.")
}

// rehearse says what would be installed and removed, or that something cannot be installed.
func (p *program) rehearse(verb string, names []string) (host.Result, error) {
	for _, arg := range names {
		name, gone := strings.CutSuffix(arg, "-")
		if !gone && verb == "install" {
			if strings.HasPrefix(name, "broken") {
				return p.unmet(name)
			}
			name, version, _ := strings.Cut(name, "=")
			p.rehearseInstall(name, version)
			continue
		}
		for _, n := range append(strings.Fields(Text(p.h, needersDir+name)), name) {
			if version, _ := InstalledVersion(p.h, n); version != "" {
				fmt.Fprintf(&p.out, "Remv %s [%s]\n", n, version)
			}
		}
	}
	return p.result()
}

// rehearseInstall says what would come with a package that is on offer.
func (p *program) rehearseInstall(name, version string) {
	if p.described(name) != nil {
		for _, need := range p.catalogue().closure(name) {
			if have, _ := InstalledVersion(p.h, need); have == "" && need != name {
				fmt.Fprintf(&p.out, "Inst %s (%s simulated [amd64])\n", need, p.choose(need, ""))
			}
		}
	}
	have, _ := InstalledVersion(p.h, name)
	switch chosen := p.choose(name, version); {
	case chosen == "" || chosen == have:
	case have == "":
		fmt.Fprintf(&p.out, "Inst %s (%s simulated [amd64])\n", name, chosen)
	default:
		fmt.Fprintf(&p.out, "Inst %s [%s] (%s simulated [amd64])\n", name, have, chosen)
	}
}
