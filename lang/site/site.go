// Package site holds what a site says about its hosts, as plain data: hosts and how
// they are reached, groups, roles, and rollouts. It knows no language and no values
// of one.
package site
