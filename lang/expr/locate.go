package expr

// Locate gives the path within the site of a file that is named relative to a
// directory, with all symbolic links followed. Paths that lead out of the site
// are errors, as for all that reads.
func (f *Files) Locate(dir, name string) (string, error) { return f.locate(dir, name) }
