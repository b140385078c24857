package privilege

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that asks on its terminal gets the line that comes for it, and what comes
// behind that is its own. Nobody waits for a password that does not come.
func TestRelay(t *testing.T) {
	t.Parallel()
	const asks = `printf "\rPassword: " > /dev/tty; read -r given < /dev/tty || exit 9; echo "got $given"; cat; echo "on stderr" >&2; exit 3`
	for name, test := range map[string]struct {
		script, in, out, err string
		status               int
		fails                string
	}{
		"asked":               {asks, "geheim 7b\nframes\n", "got geheim 7b\nframes\n", "<give>on stderr\n", 3, ""},
		"not asked":           {"echo hello; cat", "frames\n", "hello\nframes\n", "", 0, ""},
		"says the password":   {asks[:strings.Index(asks, "||")] + `; echo "No $given." > /dev/tty; exit 1`, "geheim 7b\n", "", "<give>No .\n", 1, ""},
		"says no":             {"echo Sorry. > /dev/tty; exit 1", "", "", "Sorry.\n", 1, ""},
		"asked twice":         {asks[:strings.Index(asks, "echo")] + asks, "wrong\nframes\n", "", "<give>", 0, "incorrect password"},
		"asked as another":    {`echo hello; printf "Password: " > /dev/tty; cat`, "frames\n", "hello\nframes\n", "", 0, ""},
		"nobody answers":      {asks, "", "", "<give>", 0, "no password came: EOF"},
		"that is no password": {asks, strings.Repeat("x", maxPassword+1), "", "<give>", 0, "too long for a password"},
		"killed":              {"kill -9 $$", "", "", "", 137, ""},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			var out bytes.Buffer
			r := &Relay{Argv: []string{"sh", "-c", test.script}, Prompt: "assword: ", Ask: "<give>", In: strings.NewReader(test.in), Out: &out, Err: said}
			status, err := r.Run(t.Context())
			text, readErr := os.ReadFile(said.Name())
			if readErr != nil {
				t.Fatal(readErr)
			}
			if status != test.status || out.String() != test.out || string(text) != test.err {
				t.Errorf("status %d, out %q, err %q", status, out.String(), text)
			}
			if test.fails == "" && err != nil || test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("%v", err)
			}
		})
	}
}
