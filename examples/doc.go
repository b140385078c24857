// Package examples holds sites to start from, each in a directory with a
// README. Its tests keep them in order.
package examples
