package journal

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// nextID counts on from the latest run there is, and those there were.
func (f *Folder) nextID(were ...string) (string, error) {
	ids, err := f.ids()
	if err != nil {
		return "", err
	}
	n := 0
	for _, id := range append(ids, were...) {
		if c, _ := counter(id); c > n {
			n = c
		}
	}
	random := make([]byte, 3)
	rand.Read(random)
	id := fmt.Sprintf("%08d-%s", n+1, hex.EncodeToString(random))
	if _, ok := counter(id); !ok {
		return "", fmt.Errorf("no run comes after %08d: the state folder is used up", n)
	}
	return id, nil
}

// counter gives the counter in an ID.
func counter(id string) (int, bool) {
	number, random, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && len(number) == 8 && len(random) == 6
}

// IsRunID reports whether a text has the form of a run's ID.
func IsRunID(s string) bool {
	_, ok := counter(s)
	return ok
}
