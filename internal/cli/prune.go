package cli

// pruneFlags removes what a site has created and declares no longer.
type pruneFlags struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}

// emptyFlags are about rules.
type emptyFlags struct {
	Empty bool `help:"Let a rule that selects nothing any more delete all that it has made."`
}
