package setting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// iniFile is a file of sections and settings, one a line. There is no standard;
// what is common to git, systemd, PHP, MySQL and Python is understood.
type iniFile struct {
	lines     lines.Text
	separator string
}

func parseINI(text, separator string) *iniFile { return &iniFile{lines.Parse(text), separator} }

// iniLine says what a line is: a section, a setting or neither.
func iniLine(line string) (section, name, value string, begin int) {
	bare := strings.TrimSpace(line)
	switch {
	case bare == "" || bare[0] == '#' || bare[0] == ';':
		return "", "", "", -1
	case bare[0] == '[':
		if i := strings.LastIndexByte(bare, ']'); i > 0 {
			return strings.TrimSpace(bare[1:i]), "", "", -1
		}
		return "", "", "", -1
	}
	i := strings.IndexAny(line, "=:")
	if i < 0 {
		return "", bare, "", len(line)
	}
	begin = i + 1
	for begin < len(line) && (line[begin] == ' ' || line[begin] == '\t') {
		begin++
	}
	return "", strings.TrimSpace(line[:i]), strings.TrimSpace(line[begin:]), begin
}

// split gives section and name.
func split(names []string) (section, name string) {
	if len(names) == 1 {
		return "", names[0]
	}
	return names[0], names[1]
}

// find gives the row of a setting, -1 where there is none, and the row behind which
// a new one comes, -1 where its section is missing.
func (f *iniFile) find(names []string) (row, last int, err error) {
	section, name := split(names)
	row, last = -1, -1
	now := ""
	if section == "" {
		last = 0
	}
	for i, l := range f.lines {
		header, key, value, begin := iniLine(l.Line)
		if header != "" {
			now = header
		}
		if now != section {
			continue
		}
		if header != "" || begin >= 0 {
			last = i + 1
		}
		if begin < 0 || key != name {
			continue
		}
		if row >= 0 {
			return -1, -1, fmt.Errorf("the lines %d and %d both set %s", row+1, i+1, strings.Join(names, "."))
		}
		if strings.HasSuffix(value, `\`) {
			return -1, -1, fmt.Errorf("the value in line %d goes on in the next one", i+1)
		}
		row = i
	}
	return row, last, nil
}

func (f *iniFile) get(names []string) (any, bool, error) {
	row, _, err := f.find(names)
	if err != nil || row < 0 {
		return nil, false, err
	}
	_, _, value, _ := iniLine(f.lines[row].Line)
	return textOnly(value), true, nil
}

func (f *iniFile) set(names []string, v any) (string, error) {
	row, last, err := f.find(names)
	if err != nil {
		return "", err
	}
	section, name := split(names)
	value := scalar(v)
	switch {
	case row >= 0:
		f.lines = slices.Clone(f.lines)
		line := f.lines[row].Line
		_, _, old, begin := iniLine(line)
		tail := line[begin+len(old):]
		if !strings.ContainsAny(line, "=:") {
			line, begin, tail = strings.TrimRight(line, " \t")+f.separator, len(strings.TrimRight(line, " \t")+f.separator), ""
		}
		f.lines[row].Line = line[:begin] + value + tail
	case last >= 0:
		indent := ""
		if last > 0 {
			above := f.lines[last-1].Line
			if _, _, _, begin := iniLine(above); begin >= 0 {
				indent = above[:len(above)-len(strings.TrimLeft(above, " \t"))]
			}
		}
		f.lines = f.lines.Insert(last, strings.TrimRight(indent+name+f.separator+value, " "))
	default:
		added := []string{"[" + section + "]", strings.TrimRight(name+f.separator+value, " ")}
		if len(f.lines) > 0 {
			added = append([]string{""}, added...)
		}
		f.lines = f.lines.Insert(len(f.lines), added...)
	}
	return f.lines.String(), nil
}

func (f *iniFile) remove(names []string) (string, error) {
	row, _, err := f.find(names)
	if err != nil || row < 0 {
		return f.lines.String(), err
	}
	return f.lines.Without([]int{row}, -1).String(), nil
}
