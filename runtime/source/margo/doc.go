// Package margo makes a machine a device of a workload fleet manager of Margo: it asks for the manifest, verifies all that this names,
// has it applied, and tells the manager what becomes of each deployment.
//
// The decisions are pure: Rules.Step gives the next State and the Actions that follow, from a State, a time and a Message. Device
// carries them out. A State is durable before its actions begin, and each may be done again: so a machine that loses its power at any
// step goes on where it was, and a week without the manager is a matter of messages.
package margo
