package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/reference/search"
	"github.com/tenetcm/tenet/modules"
)

// What people look for, by the words that they have, comes first or nearly so.
func TestFound(t *testing.T) {
	entries := search.Entries(modules.Standard(), nil)
	for words, want := range map[string][]string{
		"handler":                           {"keyword handler"},
		"file":                              {"module file"},
		"notify":                            {"option notify"},
		"upper":                             {"function upper"},
		"os id":                             {"fact fact.os"},
		"lineinfile":                        {"word lineinfile"},
		"depends_on":                        {"word depends_on"},
		"refreshonly":                       {"word refreshonly"},
		"onchanges":                         {"word onchanges"},
		"variables":                         {"keyword variable"},
		"dry run":                           {"word ansible-playbook --check, a dry run"},
		"facter":                            {"word facter"},
		"LINEINFILE":                        {"word lineinfile"},
		"file content":                      {"attribute file.content"},
		"before each":                       {"attribute rollout.before_each", "keyword before_each"},
		"augeas":                            {"word augeas"},
		"security group":                    {"word aws_security_group"},
		"remote-exec":                       {"word remote-exec"},
		"ansible lookup":                    {"word lookup('file', PATH), a lookup"},
		"lookup":                            {"function lookup"},
		"cron":                              {"module cron"},
		"rollback":                          {"page Deployments: Going back", "page A fleet: A bad release"},
		"canary":                            {"page Rollouts"},
		"keep releases":                     {"page What is no longer declared: What is retained"},
		"join token":                        {"page A server and its agents: Hosts"},
		"hooks":                             {"page Rollouts: Hooks"},
		"has no attribute dest":             {`error a file has no attribute "dest"`},
		`a user has no attribute "contnet"`: {`error a file has no attribute "contnet"`}, // as it is printed, of another part
	} {
		var got []string
		for _, e := range search.Search(entries, strings.Fields(words)) {
			got = append(got, e.Kind+" "+e.Name)
		}
		if len(got) > 3 {
			got = got[:3]
		}
		if !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(got, w) }) {
			t.Errorf("%s finds %q, not %q", words, got, want)
		}
	}
	if got := search.Search(entries, []string{"file", "xyzzy"}); len(got) > 0 {
		t.Errorf("an entry holds more than half of the words, not %+v", got)
	}
	if got := search.Search(entries, []string{"--"}); len(got) > 0 {
		t.Errorf("no word at all finds %d entries", len(got))
	}
	messages := 0
	for _, e := range entries {
		if e.Kind == "error" || e.Kind == "warning" {
			messages++
		}
		if e.Name == "" || e.Kind == "" || e.Summary == "" && e.Kind != "error" && e.Kind != "warning" {
			t.Errorf("%+v lacks something", e)
		}
	}
	if messages < 250 {
		t.Errorf("there are only %d messages", messages)
	}
}
