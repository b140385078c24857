package inventory

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var (
	bracketPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[(.+)\]:([0-9]+)$`)
	})
	portPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((?:[^:\[\]]|\[[^\]]*\])*):([0-9]+)$`)
	})
)

// expand gives the names that a pattern such as web[01:20].example.test:22 stands for,
// and the port behind it; 0: there is none.
func expand(pattern string) (names []string, port int, err error) {
	for _, form := range []*regexp.Regexp{bracketPattern(), portPattern()} {
		if m := form.FindStringSubmatch(pattern); m != nil {
			pattern = m[1]
			if port, err = strconv.Atoi(m[2]); err != nil || port < 1 || port > 65535 {
				return nil, 0, fmt.Errorf("%s is no port", m[2])
			}
			break
		}
	}
	if strings.Count(pattern, "[") > maxRanges {
		return nil, 0, fmt.Errorf("it has more than %d ranges", maxRanges)
	}
	names, err = expandRanges(pattern)
	return names, port, err
}

// isRange reports whether a name has a range in it, as Ansible tells.
func isRange(name string) bool {
	open := strings.Index(name, "[")
	return open >= 0 && strings.Index(name[open:], ":") > 0 && strings.Index(name[open:], "]") > strings.Index(name[open:], ":")
}

func expandRanges(pattern string) ([]string, error) {
	if !isRange(pattern) {
		return []string{pattern}, nil
	}
	head, rest, _ := strings.Cut(pattern, "[")
	inside, tail, _ := strings.Cut(rest, "]")
	steps, err := rangeOf(inside)
	if err != nil {
		return nil, err
	}
	tails, err := expandRanges(tail)
	if err != nil {
		return nil, err
	}
	if len(steps)*len(tails) > maxHosts {
		return nil, fmt.Errorf("it stands for more than %d hosts", maxHosts)
	}
	var out []string
	for _, step := range steps {
		for _, t := range tails {
			out = append(out, head+step+t)
		}
	}
	return out, nil
}

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// rangeOf gives what "01:20", "a:f" or "0:10:2" stands for.
func rangeOf(text string) ([]string, error) {
	bounds := strings.Split(text, ":")
	if len(bounds) > 3 || bounds[1] == "" {
		return nil, errors.New("a range is [BEGIN:END] or [BEGIN:END:STEP]")
	}
	begin, end, step := bounds[0], bounds[1], 1
	if begin == "" {
		begin = "0"
	}
	if len(bounds) == 3 {
		var err error
		if step, err = strconv.Atoi(bounds[2]); err != nil || step < 1 {
			return nil, fmt.Errorf("the step of a range is a number from 1, not %q", bounds[2])
		}
	}
	var out []string
	if from, to := strings.Index(alphabet, begin), strings.Index(alphabet, end); len(begin) == 1 && len(end) == 1 && from >= 0 && to >= 0 {
		if from > to {
			return nil, errors.New("the range ends before it begins")
		}
		for i := from; i <= to; i += step {
			out = append(out, alphabet[i:i+1])
		}
		return out, nil
	}
	from, err := strconv.Atoi(begin)
	to, err2 := strconv.Atoi(end)
	if err != nil || err2 != nil || from < 0 || to > 1<<40 {
		return nil, fmt.Errorf("[%s] is a range neither of numbers nor of letters", text)
	}
	width := 0
	if begin[0] == '0' && len(begin) > 1 {
		if width = len(begin); width != len(end) {
			return nil, errors.New("both ends of a range with leading zeros have as many digits")
		}
	}
	if from > to {
		return nil, errors.New("the range ends before it begins")
	}
	if (to-from)/step >= maxHosts {
		return nil, fmt.Errorf("it stands for more than %d hosts", maxHosts)
	}
	for i := from; i <= to; i += step {
		out = append(out, fmt.Sprintf("%0*d", width, i))
	}
	return out, nil
}
