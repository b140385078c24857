package access

// Choose tells whether an act of the caller's is about a host: whether a selector names it, of the hosts that the caller may see or do this
// to. The others are as if they were not there, so that no answer tells that they are. It is an error where the caller
// sees the host and may not do this to it.
func (c *Caller) Choose(verb Verb, hosts Selector, host Target, site string) (bool, error) {
	switch {
	case !hosts.Matches(host):
		return false, nil
	case c.May(verb, host, site):
		return true, nil
	case !c.May(Read, host, site):
		return false, nil
	}
	return false, c.Demand(verb, host, site)
}
