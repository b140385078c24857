package runtime_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenetcm/tenet/internal/rapidtest"
)

// TestTreesProperty: whatever versions of a tree are applied one after the other,
// whatever people do between, and wherever an apply dies, in the end no file is there
// that the site has made and nobody has touched since, and all that others have.
func TestTreesProperty(t *testing.T) {
	rapidtest.For(t, "30")
	files := []string{"a", "d/b", "d/e/c", "f"}
	rapid.Check(t, func(rt *rapid.T) {
		m := newManaged(t)
		mkdir(t, m, "/srv")
		mkdir(t, m, "/srv/www")
		write(t, m, "/srv/www/always", "theirs")
		theirs := map[string]string{"always": "theirs"} // what people wrote there last
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			name := rapid.SampledFrom(files).Draw(rt, "name")
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				if _, err := m.Lstat("/srv/www/" + dirOf(name)); err == nil {
					write(t, m, "/srv/www/"+name, "theirs")
					theirs[name] = "theirs"
				}
			case 1:
				if _, err := m.Lstat("/srv/www/" + name); err == nil {
					remove(t, m, "/srv/www/"+name)
					delete(theirs, name)
				}
			default:
				var version []string
				for _, f := range rapid.SliceOfDistinct(rapid.SampledFrom(files), func(s string) string { return s }).Draw(rt, "version") {
					version = append(version, f+"="+rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "content"))
				}
				m.withFiles(t, false, rapid.Bool().Draw(rt, "dies"), shop+wwwTree, www(version...))
				for name, text := range theirs { // what it has overwritten is as the site says
					if content(rt, m, "/srv/www/"+name) != text {
						theirs[name] = ""
					}
				}
			}
		}
		m.withFiles(t, false, false, shop, nil)
		for name, text := range theirs {
			if _, err := m.Lstat("/srv/www/" + name); text != "" && err != nil {
				rt.Errorf("%s is theirs: %v", name, err)
			}
		}
		for _, name := range files {
			if _, err := m.Lstat("/srv/www/" + name); err == nil && theirs[name] == "" && !was(theirs, name) {
				rt.Errorf("%s is left", name)
			}
		}
	})
}

func dirOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

func was(files map[string]string, name string) bool { _, ok := files[name]; return ok }
