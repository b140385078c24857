package cli

// pruneFlags removes what a site has created and declares no longer.
type pruneFlags struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}

// ruleFlags are about rules.
type ruleFlags struct {
	Empty bool     `help:"Let a rule that selects nothing any more delete all that it has made."`
	From  []string `sep:"none" help:"Let rules take this document for what was there, in the place of what the host remembers." placeholder:"[NAME=]FILE"`
}

// firstGiven is the name of a flag of rules that is there; none if no one is.
func (f ruleFlags) firstGiven() string {
	switch {
	case f.Empty:
		return "--empty"
	case len(f.From) > 0:
		return "--from"
	}
	return ""
}
