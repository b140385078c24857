// Package readme writes what was measured into a file for people.
package readme

import (
	"fmt"
	"os"
	"strings"
)

// Write puts a text between the two lines of a file that have its name: <!-- NAME: begin --> and <!-- NAME: end -->.
func Write(path, name, text string) error {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for the table %q", path, name)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
