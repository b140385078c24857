//go:build !lab

package cli_test

// pairs is how many there are of two applies at once; with the tag lab it is
// more.
const pairs = 15
