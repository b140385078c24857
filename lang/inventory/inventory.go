// Package inventory reads what tells of hosts outside of a site: the output of a
// program, and inventories of Ansible. It knows nothing of what a site declares.
package inventory

import (
	"maps"
	"slices"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

// Inventory is what was read.
type Inventory struct {
	Hosts  []Host   // in the order in which they are named first
	Groups []string // sorted
	// Clusters are those of which descriptors of peers tell.
	Clusters []Cluster
}

// Host is a machine.
type Host struct {
	// Host says how it is reached, and to which groups it belongs, those around its
	// groups included. Its address is the name where none is given.
	site.Host
	// Levels are the values that its groups and it itself give, lowest precedence
	// first.
	Levels []Level
}

// Level holds the values that one group gives, or the host itself.
type Level struct {
	Group string // "": the host itself
	Items []Item // sorted by name
}

// Item is one value.
type Item struct {
	Name  string
	Value any // plain: see expr.Value
	Range diag.Range
}

// Limits of an inventory: beyond them it is no inventory but a mistake, or hostile.
const (
	MaxBytes  = 64 << 20
	maxHosts  = 20_000
	maxGroups = 10_000
	maxRanges = 8 // in one name
	maxNodes  = 1_000_000
	// What aliases of YAML stand for grows fast.
	maxAliased = 50_000
	maxDepth   = 100
)

// value is a value with its place.
type value struct {
	plain any
	src   diag.Range
}

// unusable stands for a value that cannot be had, and says why.
type unusable string

const (
	isVault    = unusable("is encrypted by Ansible's vault")
	isTemplate = unusable("is a template of Ansible, which nothing here evaluates")
)

// unusableReason says why a value cannot be used, "" if it can.
func unusableReason(plain any) unusable {
	switch p := plain.(type) {
	case unusable:
		return p
	case string:
		if isJinja(p) {
			return isTemplate
		}
	case []any:
		for _, e := range p {
			if why := unusableReason(e); why != "" {
				return why
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(p)) {
			if why := unusableReason(p[name]); why != "" {
				return why
			}
		}
	}
	return ""
}
