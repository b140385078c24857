package host

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// unitText is the settings of a unit's files: "Section.Key" → values, in their order.
// A setting without a value takes back those before it.
type unitText map[string][]string

// parseUnit reads what stands in a unit's files, one after the other, by the rules of
// systemd.syntax(7). What is no setting is passed over.
func parseUnit(texts ...string) unitText {
	out := unitText{}
	for _, text := range texts {
		section, pending := "", ""
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			comment := line == "" || line[0] == '#' || line[0] == ';'
			if comment {
				if line == "" {
					pending = ""
				}
				continue
			}
			if rest, more := strings.CutSuffix(line, `\`); more {
				pending += rest + " "
				continue
			}
			line, pending = pending+line, ""
			if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
				section = line[1 : len(line)-1]
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			if name := section + "." + strings.TrimSpace(key); ok {
				if value = strings.TrimSpace(value); value == "" {
					delete(out, name)
				} else {
					out[name] = append(out[name], value)
				}
			}
		}
	}
	return out
}

// words gives the words of all values of a setting, with what systemd puts in the
// place of %-specifiers in the section [Install].
func (f *unitFile) words(key string) ([]string, error) {
	var out []string
	for _, value := range f.unit["Install."+key] {
		for word := range strings.FieldsSeq(value) {
			word, err := f.expand(word)
			if err != nil {
				return nil, err
			}
			if path.Base(word) != word || word == "." || word == ".." {
				return nil, fmt.Errorf("%s: %s= names %q, which is no unit", f.path, key, word)
			}
			out = append(out, word)
		}
	}
	return out, nil
}

// expand puts the unit's own names in the place of specifiers. What only a machine
// that runs knows cannot be foreseen.
func (f *unitFile) expand(word string) (string, error) {
	if !strings.Contains(word, "%") {
		return word, nil
	}
	plain := strings.TrimSuffix(f.name, path.Ext(f.name))
	prefix, instance, _ := strings.Cut(plain, "@")
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] != '%' || i+1 == len(word) {
			out.WriteByte(word[i])
			continue
		}
		i++
		switch word[i] {
		case '%':
			out.WriteByte('%')
		case 'n':
			out.WriteString(f.name)
		case 'N':
			out.WriteString(plain)
		case 'p':
			out.WriteString(prefix)
		case 'i':
			out.WriteString(instance)
		default:
			return "", fmt.Errorf("%s: what %%%c stands for: %w", f.path, word[i], ErrUnforeseeable)
		}
	}
	return out.String(), nil
}

// readAtMost reads all, and fails where that is more than limit bytes.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, err
}
