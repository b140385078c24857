//go:build lab

package cli_test

const pairs = 200
