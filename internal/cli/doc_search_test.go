package cli

import (
	"regexp"
	"slices"
	"testing"

	"github.com/tenetcm/tenet/lang/foreign"
)

// What is said in the place of commands of other tools are commands and flags that there are.
func TestCommandsOfOtherTools(t *testing.T) {
	var there []string
	for _, e := range commandEntries() {
		there = append(there, e.Name)
	}
	call := regexp.MustCompile(`tenet [a-z]+`)
	flag := regexp.MustCompile(`(tenet [a-z]+)[^;,]*? (--[a-z-]+)`)
	for _, w := range foreign.Commands() {
		for _, name := range call.FindAllString(w.Write, -1) {
			if !slices.Contains(there, name) {
				t.Errorf("%s: there is no %s", w.Name, name)
			}
		}
		for _, m := range flag.FindAllStringSubmatch(w.Write, -1) {
			if !slices.Contains(there, m[1]+" "+m[2]) && !slices.Contains(there, m[2]) {
				t.Errorf("%s: %s has no %s", w.Name, m[1], m[2])
			}
		}
	}
}
