// Package look is how pages look, those of a server and those that are one file: one set of
// colours, for light and dark, one scale of spaces, and the components that both have.
package look

import _ "embed" // the style

// CSS is the style sheet.
//
//go:embed look.css
var CSS string
