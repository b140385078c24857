package cli

import "testing"

func TestSiteIdentity(t *testing.T) {
	for text, want := range map[string]SiteIdentity{
		"key": {"", "key"}, "shop=/etc/key": {"shop", "/etc/key"}, "shop=a=b": {"shop", "a=b"}, "./a=b": {"", "./a=b"}, "/keys/a=b": {"", "/keys/a=b"}, "=x": {"", "=x"},
	} {
		var got SiteIdentity
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v: %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
}
