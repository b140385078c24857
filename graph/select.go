package graph

// Selection says which part of a run is wanted. The zero value is all of it.
type Selection struct {
	Targets []string // addresses of invocations, blocks, states or parts
	Tags    []string
	Exclude []string // addresses
}
