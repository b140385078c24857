package lang_test

import (
	"errors"
	"testing"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/site"
)

func TestWhatReachesAHost(t *testing.T) {
	tests := []struct {
		check func(string) error
		right []string
		wrong []string
	}{
		{site.CheckAddress, []string{"web1", "web1.example.test", "192.0.2.1", "2001:db8::1", "fe80::1%eth0", "a_b"},
			[]string{"", "-oProxyCommand=x", "a b", "a\n", "a\x00", "root@web1", "web1:22", "[2001:db8::1]:22", "ssh://web1", "a;b", "$(x)", "`x`", "a/b", "a'b", "wéb"}},
		{site.CheckUser, []string{"root", "deploy-1", "a.b", "a_b"}, []string{"", "-l", "a b", "a\nb", "a;b", "$x", "a'"}},
		{site.CheckSSHOption, []string{"ProxyJump=gate", "IdentityFile=~/.ssh/id one", "StrictHostKeyChecking=accept-new", "SetEnv=A=b"},
			[]string{"", "ProxyJump", "=x", "ProxyJump=", "Proxy Jump=x", "ProxyJump=a\nRemoteCommand=x", "ProxyJump=a\x00", "-J=x",
				"RemoteCommand=x", "batchmode=no", "RequestTTY=yes", "StrictHostKeyChecking=no", "stricthostkeychecking=OFF",
				"StrictHostKeyChecking=false", "StrictHostKeyChecking= no", `StrictHostKeyChecking="no"`, "StrictHostKeyChecking==no", "SessionType=none"}},
	}
	for _, tt := range tests {
		for _, text := range tt.right {
			if err := tt.check(text); err != nil {
				t.Errorf("%q is refused: %v", text, err)
			}
		}
		for _, text := range tt.wrong {
			err := tt.check(text)
			if hint, ok := errors.AsType[*diag.HintError](err); !ok || hint.Hint == "" {
				t.Errorf("%q: %v, without a hint", text, err)
			}
		}
	}
}
