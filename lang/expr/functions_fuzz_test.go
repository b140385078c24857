package expr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// FuzzFunctions calls the functions with any arguments: a number that picks the
// function, and its arguments as a JSON array. None may panic, hang or take much
// memory; what has a result has the same one again, and it is plain data.
func FuzzFunctions(f *testing.F) {
	files := fstest.MapFS{"a.txt": {Data: []byte("text")}, "t.tmpl": {Data: []byte("${x}")}}
	all := NewFiles(files).Functions(".")
	for i := range all {
		for _, args := range []string{`[]`, `["a"]`, `["%5d",3]`, `[["a","b"],["a"]]`, `[{"a":1},"a",2]`, `[3,"a\nb"]`,
			`["10.0.0.0/8",8,2]`, `["2026-01-02T03:04:05Z","1h"]`, `["[1,{\"a\":[2]}]"]`, `["a: [1, *x]"]`, `["/a(b)/","ab","$1"]`, `["t.tmpl",{"x":1}]`, `[1e400,-0.0,null,true]`} {
			f.Add(uint16(i), []byte(args))
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, args []byte) {
		if len(args) > 4096 {
			return
		}
		d := json.NewDecoder(bytes.NewReader(args))
		d.UseNumber()
		var plain []any
		if d.Decode(&plain) != nil {
			return
		}
		values := make([]cty.Value, len(plain))
		for i, p := range plain {
			v, err := Value(p)
			if err != nil {
				return
			}
			if _, err := Plain(v); err != nil { // a number beyond the doubles
				return
			}
			values[i] = v
		}
		fn := NewFiles(files).Functions(".")[int(which)%len(all)]
		if fn.Name == "try" || fn.Name == "can" { // they take expressions
			return
		}
		hang := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("%s%s hangs", fn.Name, args)) })
		defer hang.Stop()
		got, err := fn.Impl.Call(values)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("%s%s: an error without words", fn.Name, args)
			}
			return
		}
		got, _ = Split(got)
		if !got.IsWhollyKnown() {
			return
		}
		again, err := fn.Impl.Call(values)
		if err != nil {
			t.Fatalf("%s%s: %v the second time", fn.Name, args, err)
		}
		if again, _ = Split(again); !again.RawEquals(got) {
			t.Errorf("%s%s: %#v, then %#v", fn.Name, args, got, again)
		}
		if _, err := Plain(got); err != nil {
			t.Errorf("%s%s: %v", fn.Name, args, err)
		}
	})
}
