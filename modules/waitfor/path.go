package waitfor

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
)

// lookPath looks at a path once.
func lookPath(h host.Reader, name string, pattern *string) (why, err error) {
	_, err = h.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("nothing is there"), nil
	}
	if err != nil || pattern == nil {
		return nil, err
	}
	text, err := host.ReadFile(h, name, web.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("nothing is there any more"), nil
	}
	if err != nil {
		return nil, err
	}
	return matches(string(text), pattern), nil
}

func matches(text string, pattern *string) error {
	if pattern == nil || regexp.MustCompile(*pattern).MatchString(text) {
		return nil
	}
	return fmt.Errorf("it does not match %q", *pattern)
}
