// Package mistakes holds sites with mistakes, and what is said of each. They are tests of the language, and
// what tenet doc --search knows of its messages.
package mistakes

import "embed"

// FS holds the files.
//
//go:embed *.txtar
var FS embed.FS
