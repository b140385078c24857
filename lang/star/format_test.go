package star_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/lang/star"
)

func TestFormat(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"spaces":    {"file( '/etc/motd',content='x' )\n", "file('/etc/motd', content = 'x')\n"},
		"comments":  {"# a\nx=1 # b\n\n\n\n# c\ny  =  [1,\n2, # d\n]\n", "# a\nx = 1  # b\n\n# c\ny = [\n    1,\n    2,  # d\n]\n"},
		"def":       {"def f(a,b = 2):\n  return [a,b]\n", "def f(a, b = 2):\n    return [a, b]\n"},
		"no sort":   {"x = ['b', 'a']\nload('./b.star', 'b', 'a')\n", "x = [\"b\", \"a\"]\n\nload(\"./b.star\", \"b\", \"a\")\n"},
		"quotes":    {"x = 'it\\'s'\ny = r'\\d'\n", ""},
		"bytes":     {"z = b'x'\n", "error"}, // which buildifier does not know
		"if":        {"x = 1 if (a and\n  b) else 2\n", ""},
		"semicolon": {"x = 1; y = 2\n", ""},
		"strings":   {"x = '''a\n  b\n'''\n", ""},
		"no end":    {"x = 1", "x = 1\n"},
		"CRLF":      {"x = 1\r\ny = [\r\n1,2]\r\n", ""},
		"empty":     {"\n\n", ""},
		"set":       {"for x in set([1]):\n  if x: pass\n", ""},
		"lambda":    {"f = lambda x,y=2: x*y\n", ""},
		"brackets":  {"x = a[1:2][ 'k' ] | {'b':1,**c}\n", "error"},
	} {
		t.Run(name, func(t *testing.T) {
			out, list := star.Format("a.star", []byte(tt.in))
			if tt.want == "error" {
				if len(list) != 1 || list[0].Hint == "" || string(out) != tt.in {
					t.Errorf("%q, %v", out, list)
				}
				return
			}
			if len(list) > 0 {
				t.Fatal(list)
			}
			if tt.want != "" && strings.ReplaceAll(string(out), "'", `"`) != strings.ReplaceAll(tt.want, "'", `"`) {
				t.Errorf("got %q, want %q", out, tt.want)
			}
			again, list := star.Format("a.star", out)
			if len(list) > 0 || !bytes.Equal(again, out) {
				t.Errorf("%q becomes %q, %v", out, again, list)
			}
		})
	}
}

// FuzzFormat looks for scripts whose layout does not settle, or that the
// formatter takes and should not.
func FuzzFormat(f *testing.F) {
	f.Add("x = [1,\n2] # c\ndef f(a):\n  return a\n")
	f.Add("file('/a', content = '''x\n  y''', notify=[reload(\"n\")])\n")
	f.Add("if x:\n  y = {'a':1}\nelse:\n  pass\n")
	f.Fuzz(func(t *testing.T, src string) {
		out, list := star.Format("a.star", []byte(src))
		if list.HasErrors() {
			if string(out) != src {
				t.Errorf("%q is refused, and becomes %q", src, out)
			}
			return
		}
		again, list := star.Format("a.star", out)
		if list.HasErrors() || !bytes.Equal(again, out) {
			t.Errorf("%q becomes %q, and then %q (%v)", src, out, again, list)
		}
	})
}
