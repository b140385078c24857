package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tenetcm/tenet/runtime/journal"
	"github.com/tenetcm/tenet/states"
)

// unconfirmedFolder gives a state folder of a run that was killed before its check had
// ended, and the index of what it has kept.
func unconfirmedFolder(t *testing.T) (dir, index string) {
	t.Helper()
	dir = t.TempDir()
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { newGate(t).killed(t, folder, gated("bad", ""), false) })
	found, err := filepath.Glob(filepath.Join(dir, "runs/*/backup/index.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	index, err = filepath.Rel(dir, found[0])
	if err != nil {
		t.Fatal(err)
	}
	return dir, index
}

// settles applies another site on a copy of the state folder in which the index is
// changed, and gives how the machine and the check are then.
func settles(t *testing.T, from, index string, changed []byte) (g *gate, end states.Event, backup string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, index), changed, 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g = newGate(t)
		write(t, g, "/conf", "bad")
		g.loaded = "bad"
		list := g.recorded(t, folder, `file "/after" { content = "later" }`+"\n", "/other").confirmed()
		end = list[len(list)-1]
	})
	return g, end, filepath.Dir(filepath.Join(dir, index))
}

// A wrong byte in what a run has kept never costs what stands on the machine, nor what
// is kept: what cannot be believed is not acted upon, and is told.
func TestConfirmWithAWrongByte(t *testing.T) {
	dir, index := unconfirmedFolder(t)
	whole, err := os.ReadFile(filepath.Join(dir, index))
	if err != nil {
		t.Fatal(err)
	}
	if g, end, _ := settles(t, dir, index, whole); content(t, g, "/conf") != "good" || end.Outcome != states.Failed {
		t.Fatalf("unspoilt: %q %+v", content(t, g, "/conf"), end)
	}
	kind := strings.Replace(string(whole), `"kind":"file"`, `"kind":""`, 1)
	without := strings.Replace(string(whole), `"sum":"`, `"sun":"`, 1)
	trials := [][]byte{[]byte(kind), []byte(without), []byte("\n"), []byte("{}\n"), whole[:len(whole)-3]}
	at := strings.Index(string(whole), `"path"`)
	for i := range whole {
		if within := i >= at && i < at+len(`"path":"/conf","kind":"file"`); !within && i%11 != 0 { // each of them: see journal.TestWrongByte
			continue
		}
		trial := slices.Clone(whole)
		trial[i] ^= 1
		trials = append(trials, trial)
	}
	for _, trial := range trials {
		g, end, backup := settles(t, dir, index, trial)
		copies, err := os.ReadDir(backup)
		if content(t, g, "/conf") != "bad" || err != nil || len(copies) != 2 {
			// A line that was not written to its end speaks of nothing that was done.
			if !strings.HasPrefix(string(whole), string(trial)) || content(t, g, "/conf") != "bad" {
				t.Errorf("with %q: /conf is %q, and %v are kept (%v)", trial, content(t, g, "/conf"), copies, err)
			}
			continue
		}
		if end.Outcome != "" || end.Error == nil || !strings.Contains(end.Error.Message, "line 1 of ") || !strings.Contains(end.Error.Hint, backup) {
			t.Errorf("with %q: %+v %+v", trial, end, end.Error)
		}
	}
}

// older gives an index as a version has written it whose records had no digests.
func older(index []byte) []byte {
	text := regexp.MustCompile(`,"(sum|boot)":"[^"]*"|,"(directory|id)":{[^}]*}`).ReplaceAllString(string(index), "")
	return []byte(strings.ReplaceAll(text, `"kind":"absent"`, `"kind":""`))
}

// What an older version has left is put back as far as the run and the copy bear it out:
// a wrong byte never makes it another path, nor loses what is kept.
func TestConfirmOfAnOlderVersion(t *testing.T) {
	dir, index := unconfirmedFolder(t)
	sealed, err := os.ReadFile(filepath.Join(dir, index))
	if err != nil {
		t.Fatal(err)
	}
	whole := older(sealed)
	if g, end, _ := settles(t, dir, index, whole); content(t, g, "/conf") != "good" || end.Outcome != states.Failed {
		t.Fatalf("unspoilt: %q %+v", content(t, g, "/conf"), end)
	}
	text := string(whole)
	trials := [][]byte{
		[]byte(strings.Replace(text, `"kind":"file"`, `"kind":""`, 1)),
		[]byte(strings.Replace(text, `"kind":"file"`, `"kind":"socket"`, 1)),
		[]byte(strings.Replace(text, `"sha256":"`, `"sha256":"0`, 1)),
		[]byte(text + text), append(slices.Clone(sealed), whole...),
	}
	from, to := strings.Index(text, `"block"`), strings.Index(text, `,"uid"`)
	if from < 0 || to < from {
		t.Fatal(text)
	}
	sum := strings.Index(text, `"size"`)
	for i := range whole {
		if mode := strings.Contains(text[max(0, i-7):i], `"mode":`); i%4 == 0 && (i >= from && i < to && !mode || i >= sum) {
			trial := slices.Clone(whole)
			trial[i] ^= 1
			trials = append(trials, trial)
		}
	}
	refused := 0
	for _, trial := range trials {
		g, end, backup := settles(t, dir, index, trial)
		is := content(t, g, "/conf")
		entries, err := g.ReadDir("/")
		if names := fmt.Sprint(entries); err != nil || names != "[{after file} {conf file}]" {
			t.Errorf("with %q: there is %s (%v)", trial, names, err)
		}
		if is == "good" && end.Outcome == states.Failed {
			continue // it makes no difference
		}
		refused++
		copies, err := os.ReadDir(backup)
		if is != "bad" && is != "good" || err != nil || len(copies) != 2 || end.Outcome != "" || end.Error == nil || !strings.Contains(end.Error.Hint, backup) {
			t.Errorf("with %q: /conf is %q, %v are kept (%v): %+v %+v", trial, is, copies, err, end, end.Error)
		}
	}
	if refused < len(trials)/2 {
		t.Errorf("%d of %d are refused", refused, len(trials))
	}
}
