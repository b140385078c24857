package host

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// UnitsAlong names the units that systemd starts along with one of the machine's, and those that it
// stops, by what stands in its files, and links that stand for that: systemd.unit(5). In
// place of what only a unit that runs knows stands a *. There are none of a unit without files.
func UnitsAlong(h Host, name string) (starts, stops []string, err error) {
	init, err := UnitFiles(h, "")
	if err != nil {
		return nil, nil, err
	}
	u := init.(*unitFiles)
	f, err := u.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	starts = f.unitsOf("Requires", "Wants", "BindsTo", "Upholds", "OnSuccess", "OnFailure")
	for _, dir := range u.dirs {
		for _, kind := range []string{".wants", ".requires", ".upholds"} {
			entries, err := u.list(path.Join(dir, name+kind))
			if err != nil {
				return nil, nil, err
			}
			for _, e := range entries {
				starts = append(starts, e.Name)
			}
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts), f.unitsOf("Conflicts", "PropagatesStopTo"), nil
}

// unitsOf lists what stands in settings that name units.
func (f *unitFile) unitsOf(keys ...string) (out []string) {
	for _, key := range keys {
		for _, value := range f.unit["Unit."+key] {
			for word := range strings.FieldsSeq(value) {
				out = append(out, specifier().ReplaceAllString(word, "*"))
			}
		}
	}
	return out
}

// specifier is a word's part that stands for something else.
var specifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%.`) })
