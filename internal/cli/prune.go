package cli

// pruneFlags removes what a site has created and declares no longer.
type pruneFlags struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}
