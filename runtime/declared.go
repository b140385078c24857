package runtime

import (
	"cmp"
	"path"
	"slices"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// declaredResources is what a run's site declares, in the run or left out of it.
type declaredResources struct {
	present      map[states.Resource]bool // by type and key
	absent       map[states.Resource]bool
	excluded     []string        // addresses of whose parts no more is known
	unknownKeys  map[string]bool // addresses of parts whose keys only the host knows
	unknownTypes map[string]bool // types of which such a part may be any

	// By path, the part that is wanted there.
	wholeAt    map[string]string // as all that is at the path
	partsAt    map[string]string // as something else
	partsBelow map[string]string // somewhere below it

	// What an orphan that has made many things is not to remove: these paths, those
	// above them, and all below some: below theirs, which other sites hold, also where the
	// orphan is below it.
	keptPaths, keptParents, keptTrees, foreignTrees map[string]bool
}

// declares gives what the run's site declares. reports may tell keys that the
// host has computed meanwhile.
func declares(run *states.StateRun, registry *states.Registry, holding *journal.Holding, reports map[string]*partState) *declaredResources {
	d := &declaredResources{
		present: map[states.Resource]bool{}, absent: map[states.Resource]bool{}, unknownKeys: map[string]bool{}, unknownTypes: map[string]bool{},
		wholeAt: map[string]string{}, partsAt: map[string]string{}, partsBelow: map[string]string{},
		keptPaths: map[string]bool{}, keptParents: map[string]bool{}, keptTrees: map[string]bool{}, foreignTrees: map[string]bool{},
	}
	byAddress := map[string]bool{}
	for _, c := range holding.Entries() {
		byAddress[c.Type+" "+c.Address] = true
	}
	for _, list := range [][]states.Invocation{run.Invocations, run.Handlers} {
		for i := range list {
			for k := range list[i].Parts {
				p := &list[i].Parts[k]
				d.add(registry.ModuleOf(p.Type), p, reports[p.Address], byAddress)
			}
		}
	}
	for _, r := range run.LeftOut {
		if r.Key == "" {
			d.excluded = append(d.excluded, r.Address)
			continue
		}
		d.present[states.Resource{Type: r.Type, Key: r.Key}] = true
		d.take(registry.ModuleOf(r.Type), r.Key, nil)
	}
	return d
}

// add adds a part of the run.
func (d *declaredResources) add(m *states.Module, p *states.Part, report *partState, byAddress map[string]bool) {
	name := states.Resource{Type: p.Type, Key: p.Key}
	address := states.WithoutWave(p.Address)
	if m != nil && slices.ContainsFunc(m.Keys(), func(key string) bool { return p.Results[key] != nil }) {
		d.unknownKeys[address] = true
		if report != nil && report.key != "" {
			name.Key = report.key
		} else if !byAddress[p.Type+" "+address] {
			d.unknownTypes[p.Type] = true // it may have been another part's before
		}
	}
	if p.Ensure == states.Absent {
		d.absent[name] = true
		return
	}
	d.present[name] = true
	if m == nil {
		return
	}
	alone := onlyPathKey(m)
	d.take(m, name.Key, m.Paths(p.Values))
	for _, at := range m.Paths(p.Values) {
		at = path.Clean(at)
		if alone != "" && p.Values[alone] == at {
			d.wholeAt[at] = address
		} else {
			d.partsAt[at] = address
		}
		for dir := path.Dir(at); d.partsBelow[dir] == ""; dir = path.Dir(dir) {
			d.partsBelow[dir] = address
		}
	}
}

// onlyPathKey gives the path that is a module's only key: what it declares is all
// that is at that path. Empty: there is none.
func onlyPathKey(m *states.Module) string {
	keys := m.Keys()
	if len(keys) != 1 || !m.Attribute(keys[0]).Path {
		return ""
	}
	return keys[0]
}

// has reports whether something is declared still.
func (d *declaredResources) has(c *journal.Created) bool {
	name := states.Resource{Type: c.Type, Key: c.Key}
	return d.present[name] || d.absent[name] || d.unknownTypes[c.Type] || d.unknownKeys[c.Address] ||
		slices.ContainsFunc(d.excluded, func(address string) bool { return states.Within(c.Address, address) })
}

// inTheWay tells why something that is not declared is to stay for what is. What
// is covered is part of something that is declared as a whole. What is not removed as
// a whole leaves what is in it.
func (d *declaredResources) inTheWay(m *states.Module, c *journal.Created, whole bool) (why string, covered bool) {
	alone := onlyPathKey(m) != ""
	for _, at := range ownPaths(m, c) {
		switch {
		case !alone && d.wholeAt[at] != "":
			return "", true
		case alone && d.partsAt[at] != "":
			why = cmp.Or(why, d.partsAt[at]+" needs it")
		case alone && whole && d.wholeAt[at] == "" && d.partsBelow[at] != "":
			why = cmp.Or(why, d.partsBelow[at]+" is in it")
		}
	}
	return why, false
}

// isAt reports whether something that is declared stands where a resource did.
func (d *declaredResources) isAt(m *states.Module, c *journal.Created) bool {
	return slices.ContainsFunc(ownPaths(m, c), func(at string) bool { return d.wholeAt[at] != "" })
}

// ownPaths gives the paths at which something of a resource would be removed: not those of
// which it was made, such as the file of an archive.
func ownPaths(m *states.Module, c *journal.Created) (list []string) {
	if alone := onlyPathKey(m); alone != "" {
		at, _ := c.Values[alone].(string)
		return []string{path.Clean(at)}
	}
	for _, at := range m.Paths(c.Values) {
		list = append(list, path.Clean(at))
	}
	return list
}

// take notes the paths of something that somebody declares, or holds.
func (d *declaredResources) take(m *states.Module, key string, paths []string) {
	if m == nil {
		return
	}
	if onlyPathKey(m) != "" && path.IsAbs(key) {
		paths = append(slices.Clone(paths), key)
		d.keptTrees[path.Clean(key)] = d.keptTrees[path.Clean(key)] || m.Makes != nil
	}
	for _, at := range paths {
		at = path.Clean(at)
		d.keptPaths[at] = true
		for at != "/" && !d.keptParents[path.Dir(at)] {
			at = path.Dir(at)
			d.keptParents[at] = true
		}
	}
}

// isKept reports whether something below the path of an orphan stays, whoever has
// made it, since it is somebody else's, too.
func (d *declaredResources) isKept(root, name string) bool {
	at := path.Join(root, name)
	if at == root && d.keptParents[root] || at != root && (d.keptPaths[at] || d.keptParents[at]) {
		return true
	}
	for ; len(at) > len(root); at = path.Dir(at) {
		if d.keptTrees[at] {
			return true
		}
	}
	for at != "/" && !d.foreignTrees[at] {
		at = path.Dir(at)
	}
	return d.foreignTrees[at]
}
