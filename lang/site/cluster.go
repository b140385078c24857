package site

import "github.com/tenetcm/tenet/lang/diag"

// Cluster is a set of hosts that make sense only together: what its roles declare is there
// on all of them or on none.
type Cluster struct {
	Name string `json:"name"`
	// Leader is one of the hosts; empty: none leads.
	Leader string   `json:"leader,omitempty"`
	Hosts  []string `json:"hosts"` // in the order of declaration
	Roles  []string `json:"roles,omitempty"`
	// Together: while one of the hosts is away the others get no revisions either.
	Together bool `json:"together,omitempty"`
	// Absent: it is not to be there, and what it has made goes.
	Absent bool       `json:"absent,omitempty"`
	Range  diag.Range `json:"range,omitzero"`
}

// Membership is what a member is told of its cluster.
type Membership struct {
	Name    string   `json:"name"`
	Leader  string   `json:"leader,omitempty"`
	Members []string `json:"members"` // those that have joined, itself among them
}
