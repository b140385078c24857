package download

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/web"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

type digest struct{ hash.Hash }

func newDigest(algorithm string) digest {
	if algorithm == "sha512" {
		return digest{sha512.New()}
	}
	return digest{sha256.New()}
}

func (d digest) hex() string { return hex.EncodeToString(d.Sum(nil)) }

// lengths are the hex digits of each algorithm.
func lengths(algorithm string) int { return map[string]int{"sha256": 64, "sha512": 128}[algorithm] }

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// checkSum checks what a file must be; the empty text is no wish, as an import has
// it.
func checkSum(checksum *string) error {
	if checksum == nil {
		return nil
	}
	if isURL(*checksum) {
		return web.URL("checksum", *checksum)
	}
	algorithm, digits, _ := strings.Cut(*checksum, ":")
	if n := lengths(algorithm); n == 0 || !isHex(digits, n) {
		return states.InvalidAttribute("checksum", fmt.Sprintf("%.80q is no checksum", *checksum),
			`write "sha256:" and 64 hex digits in lower case, "sha512:" and 128, or the URL of a file of such sums`)
	}
	return nil
}

func isURL(checksum string) bool {
	return strings.HasPrefix(checksum, "http://") || strings.HasPrefix(checksum, "https://")
}

// fromList finds the checksum of a file in a list of them: lines as sha256sum writes
// them ("DIGITS  NAME", with a * before the name of a binary one, or as with --tag,
// "SHA256 (NAME) = DIGITS"), or a single sum without a name.
func fromList(list, name string) (string, error) {
	var found []string
	alone := ""
	for line := range strings.Lines(list) {
		digits, of := sumOf(strings.TrimSpace(line))
		switch sum := withAlgorithm(digits); {
		case sum == "":
		case of == "":
			alone = sum
		case path.Base(of) == name:
			found = append(found, sum)
		}
	}
	switch {
	case len(found) > 0 && allSame(found):
		return found[0], nil
	case len(found) > 0:
		return "", fmt.Errorf("the list of checksums has several for %s", name)
	case alone != "" && strings.Count(strings.TrimSpace(list), "\n") == 0:
		return alone, nil
	}
	return "", fmt.Errorf("the list of checksums has none for %s", name)
}

// sumOf takes a line apart.
func sumOf(line string) (digits, name string) {
	if _, rest, ok := strings.Cut(line, " ("); ok && (strings.HasPrefix(line, "SHA256 ") || strings.HasPrefix(line, "SHA512 ")) {
		if i := strings.LastIndex(rest, ") = "); i >= 0 {
			return strings.ToLower(rest[i+4:]), rest[:i]
		}
	}
	digits, name, _ = strings.Cut(line, " ")
	return strings.ToLower(digits), strings.TrimPrefix(strings.TrimSpace(name), "*")
}

func withAlgorithm(digits string) string {
	for _, algorithm := range []string{"sha256", "sha512"} {
		if isHex(digits, lengths(algorithm)) {
			return algorithm + ":" + digits
		}
	}
	return ""
}

func allSame(sums []string) bool {
	for _, s := range sums {
		if s != sums[0] {
			return false
		}
	}
	return true
}

// verify gives the body of an answer: reading ends with an error where it is not
// what the file must be.
func (want Download) verify(answer *host.Response) *verification {
	v := &verification{ReadCloser: answer.Body, sha256: newDigest("sha256"), source: web.Shown(answer.URL)}
	if want.Checksum != nil {
		v.checksum = *want.Checksum
		v.digest = newDigest(algorithmOf(v.checksum))
	}
	if want.MaxSize != nil {
		v.max, v.isLimited = int64(*want.MaxSize), true
	}
	return v
}

type verification struct {
	io.ReadCloser
	source    string
	sha256    digest
	digest    digest
	checksum  string // empty: any
	size      int64
	max       int64
	isLimited bool
	err       error // what is wrong with it
}

func (v *verification) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.size += int64(n)
	v.sha256.Write(p[:n])
	if v.checksum != "" {
		v.digest.Write(p[:n])
	}
	switch {
	case v.isLimited && v.size > v.max:
		v.err = fmt.Errorf("%s is larger than max_size, %d bytes", v.source, v.max)
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		v.err = fmt.Errorf("reading %s: %w", v.source, err)
	case v.checksum != "" && algorithmOf(v.checksum)+":"+v.digest.hex() != v.checksum:
		v.err = fmt.Errorf("%s is not the file that it should be: its checksum is %s:%s, not %s",
			v.source, algorithmOf(v.checksum), v.digest.hex(), v.checksum)
	default:
		return n, io.EOF
	}
	return n, v.err
}
