package inventory

import (
	"errors"
	"strings"
)

// words splits a line as Ansible does, which takes it as a POSIX shell would: with
// quotes, backslashes and comments.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	open := false // there is a word, though it may be empty
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		case quote == 0 && c == '#':
			i = len(line)
		case c == '\\' && quote != '\'':
			if i++; i == len(line) {
				return nil, errors.New("there is nothing behind the backslash")
			}
			if quote == '"' && line[i] != '"' && line[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			open = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote != 0 && quote == c:
			quote = 0
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}
