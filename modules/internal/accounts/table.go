// Package accounts reads and predicts the files of users and groups: passwd,
// shadow, group and gshadow, whose lines are fields between colons. It changes
// them in a Shadow only; on a host, useradd and its like do.
package accounts

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/tenetcm/tenet/runtime/host"
)

// The files.
const (
	Passwd  = "/etc/passwd"
	Shadow  = "/etc/shadow"
	Group   = "/etc/group"
	Gshadow = "/etc/gshadow"
)

// Table is the lines of one such file.
type Table struct {
	path  string
	Rows  []Row
	there bool
}

// Row is the fields of one line; the first is the name.
type Row []string

// Field gives field i, or "" where the line is too short.
func (r Row) Field(i int) string {
	if i < len(r) {
		return r[i]
	}
	return ""
}

// Load reads a file. A missing one is an empty table.
func Load(h host.Reader, path string) (*Table, error) {
	t := &Table{path: path}
	text, err := host.ReadText(h, path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.there = true
	for line := range strings.Lines(text) {
		t.Rows = append(t.Rows, strings.Split(strings.TrimSuffix(line, "\n"), ":"))
	}
	return t, nil
}

// LoadSecret is Load of a file that only root may read. It is an empty table to
// others, who can only plan.
func LoadSecret(h host.Reader, path string) (*Table, error) {
	t, err := Load(h, path)
	if errors.Is(err, fs.ErrPermission) {
		return &Table{path: path}, nil
	}
	return t, err
}

// Follow adds the groups to gshadow that group has gained, and removes those that
// it has lost.
func (t *Table) Follow(group *Table) {
	for _, r := range group.Rows {
		if t.Find(r[0]) == nil {
			t.Put(Row{r[0], "!", "", r.Field(3)})
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return group.Find(r[0]) == nil })
}

// Find gives the row of a name, or nil.
func (t *Table) Find(name string) Row {
	for _, r := range t.Rows {
		if r[0] == name {
			return r
		}
	}
	return nil
}

// Put sets the row of its name, at the end where there is none.
func (t *Table) Put(r Row) {
	for i, old := range t.Rows {
		if old[0] == r[0] {
			t.Rows[i] = r
			return
		}
	}
	t.Rows = append(t.Rows, r)
}

// Delete removes the row of a name.
func (t *Table) Delete(name string) {
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return r[0] == name })
}

// Save writes the file, if it was there.
func (t *Table) Save(ctx context.Context, h host.Writer) error {
	if !t.there {
		return nil
	}
	var b strings.Builder
	for _, r := range t.Rows {
		b.WriteString(strings.Join(r, ":") + "\n")
	}
	return h.WriteFile(ctx, t.path, host.Text(b.String()), host.Meta{})
}

// Members lists the members of a row of group.
func Members(r Row) []string {
	if r.Field(3) == "" {
		return nil
	}
	return strings.Split(r.Field(3), ",")
}

// GroupsOf lists the groups that have the user as a member, sorted. The user's
// primary group is not among them.
func (t *Table) GroupsOf(user string) []string {
	groups := []string{}
	for _, r := range t.Rows {
		if slices.Contains(Members(r), user) {
			groups = append(groups, r[0])
		}
	}
	slices.Sort(groups)
	return groups
}

// SetGroupsOf makes the user a member of exactly these groups.
func (t *Table) SetGroupsOf(user string, groups []string) {
	for i, r := range t.Rows {
		if len(r) < 4 {
			continue
		}
		members := slices.DeleteFunc(Members(r), func(m string) bool { return m == user })
		if slices.Contains(groups, r[0]) {
			members = append(members, user)
		}
		r = slices.Clone(r)
		r[3] = strings.Join(members, ",")
		t.Rows[i] = r
	}
}

// Free foresees the number that useradd or groupadd choose (field 2): the one
// above the highest from 1000 on, or the first free one below 1000, counted
// down, for a system account.
func (t *Table) Free(system bool) int {
	used := map[int]bool{}
	highest := 999
	for _, r := range t.Rows {
		if n, err := strconv.Atoi(r.Field(2)); err == nil {
			used[n] = true
			if n < 60000 {
				highest = max(highest, n)
			}
		}
	}
	if !system {
		return highest + 1
	}
	for n := 999; n > 100; n-- {
		if !used[n] {
			return n
		}
	}
	return highest + 1
}
