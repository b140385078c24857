package become

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
)

// All that is known of a file comes over.
func TestInfoComesOver(t *testing.T) {
	full := host.Info{
		Kind: host.Directory, Mode: 0o751, UID: 3, GID: 4, Size: 5, ModTime: time.Unix(6, 7), Mount: true,
		ID: host.FileID{Device: 8, Inode: 9}, Birth: time.Unix(10, 11),
	}
	for f, v := range reflect.ValueOf(full).Fields() {
		if v.IsZero() {
			t.Errorf("%s is not tried", f.Name)
		}
	}
	for _, in := range []host.Info{full, {Kind: host.Regular, ModTime: time.Unix(0, 0)}} {
		text, err := json.Marshal(infoOf(in))
		var sent info
		if err == nil {
			err = json.Unmarshal(text, &sent)
		}
		out := sent.host()
		if !out.Birth.Equal(in.Birth) || !out.ModTime.Equal(in.ModTime) || err != nil {
			t.Errorf("%+v comes over as %+v, %v", in, out, err)
		}
		out.Birth, out.ModTime = in.Birth, in.ModTime
		if out != in {
			t.Errorf("%+v comes over as %+v", in, out)
		}
	}
}
