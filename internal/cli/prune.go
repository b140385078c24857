package cli

// pruning removes what a site has created and declares no longer.
type pruning struct {
	Prune bool `help:"Remove what the site has created and declares no longer."`
}
