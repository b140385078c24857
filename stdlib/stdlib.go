// Package stdlib holds the standard components: HCL that is part of the
// program. A site uses one as a component with source = "std/NAME".
package stdlib

import "embed"

// FS has a directory for each component, by the name behind "std/".
//
//go:embed */*.hcl */*.tmpl */*.sh */tests/*.hcl
var FS embed.FS
