package ssh

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// The words that the scripts say.
const (
	wordRun    = "run"    // the runner starts: its frames follow
	wordNew    = "new"    // it is not there: system, and how it may be sent
	wordBecome = "become" // sudo is called
	wordFail   = "fail"   // what failed, and the cache folder
)

// answer is one line of a script: a word, and what follows.
type answer struct {
	word string
	rest string
}

const (
	maxNoise  = 64 << 10 // what a login shell may print before
	maxAnswer = 8 << 10
)

var (
	errNoise  = errors.New("too much came before an answer")
	errAnswer = errors.New("an answer cannot be read")
)

// readAnswer reads until a script's next line, and passes over what else is printed
// before. It also gives that, for an error message, where there is no answer.
func readAnswer(in *bufio.Reader, nonce string) (answer, string, error) {
	mark := "<tenet " + nonce + " "
	noise, err := readUntil(in, mark, maxNoise)
	if errors.Is(err, errAnswer) {
		err = errNoise
	}
	if err != nil {
		return answer{}, noise, err
	}
	text, err := readUntil(in, ">\n", maxAnswer)
	if err != nil {
		return answer{}, noise, err
	}
	word, rest, _ := strings.Cut(text, " ")
	return answer{word, rest}, noise, nil
}

// readUntil reads until mark, and gives what came before it.
func readUntil(in io.ByteReader, mark string, limit int) (string, error) {
	var text []byte
	for {
		c, err := in.ReadByte()
		if err != nil {
			return string(text), err
		}
		text = append(text, c)
		if n := len(text) - len(mark); n >= 0 && string(text[n:]) == mark {
			return string(text[:n]), nil
		}
		if len(text) >= limit+len(mark) {
			return string(text), errAnswer
		}
	}
}
