package access_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/server/access"
)

// together calls a function from several goroutines, and counts the codes of its errors.
func together(n int, f func(i int) error) map[string]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[string]int{}
	for i := range n {
		all.Go(func() {
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				codes["done"]++
			} else {
				codes[diag.CodeOf(err)]++
			}
		})
	}
	all.Wait()
	return codes
}

// Of several who want the same at once one gets it, and the audit has each act that was done, once.
func TestTogether(t *testing.T) {
	ctx, w := context.Background(), people(t)
	_, alice := w.login("alice")
	const n = 10
	for what, f := range map[string]func(i int) error{
		"a person": func(i int) error {
			return w.AddPerson(ctx, w.root, []string{"bob", "Bob", "BOB"}[i%3], access.PersonChange{})
		},
		"a program": func(int) error {
			_, _, err := w.AddProgram(ctx, alice, "ci", access.AllGrants(), w.now.Add(time.Hour), "")
			return err
		},
	} {
		if codes := together(n, f); codes["done"] != 1 || codes[access.CodeExists] != n-1 {
			t.Errorf("%s: %v", what, codes)
		}
	}
	before, err := access.ReadHead(ctx, w.Store())
	must(t, err)
	if codes := together(n, func(i int) error {
		return w.PutRole(ctx, w.root, access.Role{Name: fmt.Sprint("r", i)}, "")
	}); codes["done"] != n {
		t.Error(codes)
	}
	after, err := access.Verify(ctx, w.Store(), before)
	if err != nil || after.N != before.N+n {
		t.Error(before, after, err)
	}
}

// Two administrators who remove one another at once: one of them stays.
func TestLastAdminTogether(t *testing.T) {
	ctx, w := context.Background(), people(t)
	w.add("bob", access.AllGrants()...)
	names := []string{"alice", "bob"}
	codes := together(2, func(i int) error { return w.RemovePerson(ctx, w.root, names[i], "") })
	if codes["done"] != 1 || codes[access.CodeLastAdmin] != 1 {
		t.Error(codes)
	}
}

// Of two starts at once one makes the first person, and the password of that one is the one that
// holds: the other says that the file is not to be trusted.
func TestFirstTogether(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	d := access.NewDirectory(open(t), access.Options{Cost: cheap()})
	made := make([]bool, 4)
	together(len(made), func(i int) (err error) {
		made[i], err = d.MakeFirst(ctx, filepath.Join(dir, fmt.Sprint(i)))
		return err
	})
	count := 0
	for i := range made {
		if !made[i] {
			continue
		}
		count++
		_, err := d.LogIn(ctx, access.FirstPerson, passwordIn(t, filepath.Join(dir, fmt.Sprint(i))), "x")
		must(t, err)
	}
	if count != 1 {
		t.Error(made)
	}
}
