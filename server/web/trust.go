package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenetcm/tenet/server/api"
)

func (p *Pages) registerTrust() {
	p.act("/server/trust/rotate/{what}", p.rotateTrust)
	p.act("/server/trust/retire", p.retireAuthorities)
	p.act("/server/trust/keys/add", p.addTrustKey)
	p.act("/server/trust/keys/remove", p.removeTrustKey)
}

func (p *Pages) rotateTrust(v *view) (*act, error) {
	what := v.r.PathValue("what")
	title, word := "Replace the server's key", what // as the command has it
	if what == "authority" {
		title, word = "Replace the server's CA", "ca"
	} else if what != "key" {
		return nil, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is no such page.", Hint: "Follow one of the links at the side."}
	}
	return &act{Title: title, Button: "Replace it", IsGrave: true, Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "trust", "rotate", word},
		Effects: []string{"A new trust document is signed. Hosts that are connected learn of it at once, the others when they come back.", "Servers that stand by need a copy of the folder of keys after it, and so does the backup."},
		Do: func(form url.Values) (string, error) {
			return "It is replaced.", v.send(http.MethodPost, "/v1/trust/rotate", map[string]any{"what": what, "reason": form.Get("reason")}, nil)
		}}, nil
}

func (p *Pages) retireAuthorities(v *view) (*act, error) {
	t, err := get[api.Trusted](v, "/v1/trust", nil)
	if err != nil {
		return nil, err
	}
	var former []string
	for i, a := range t.Authorities {
		if i > 0 {
			former = append(former, a.Name)
		}
	}
	return &act{Title: "Trust the present CA alone", Button: "Retire the others", IsGrave: true, Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "trust", "retire"},
		Effects: []string{"Former ones are trusted no more: " + listNames(former, maxNames) + ".", "A host that was away all the time since the CA was replaced does not find back by itself, and has to join again."},
		Do: func(form url.Values) (string, error) {
			return "Only the present CA is trusted.", v.send(http.MethodPost, "/v1/trust/retire", map[string]any{"reason": form.Get("reason")}, nil)
		}}, nil
}

func (p *Pages) addTrustKey(v *view) (*act, error) {
	return &act{Title: "Let a key sign", Button: "Trust it", Back: "/server", Command: []string{"tenet", "trust", "add-key", "KEY", "--name", "NAME", "--verb", "VERB"},
		Effects: []string{"From then on all hosts accept what this key has signed, for these verbs and no others. A key that is there already has these from then on, and no others."},
		Fields: []field{{Name: "key", Label: "Public key", Kind: "text", IsRequired: true, Hint: "It begins with tenet-key:, and tenet trust key prints it."}, {Name: "name", Label: "Whose it is", Kind: "text", IsRequired: true},
			{Name: "verbs", Label: "What it may sign", Kind: "text", IsRequired: true, Hint: "With commas: release for programs, assign for what hosts are to be, trust for trust documents, or what hosts are asked for, such as exec."}, reason()},
		Do: func(form url.Values) (string, error) {
			verbs := strings.FieldsFunc(form.Get("verbs"), func(r rune) bool { return r == ',' || r == ' ' })
			return "The key of " + form.Get("name") + " is trusted.", v.send(http.MethodPost, "/v1/trust/keys", map[string]any{"key": strings.TrimSpace(form.Get("key")), "name": form.Get("name"), "verbs": verbs, "reason": form.Get("reason")}, nil)
		}}, nil
}

func (p *Pages) removeTrustKey(v *view) (*act, error) {
	key := v.r.URL.Query().Get("key")
	t, err := get[api.Trusted](v, "/v1/trust", nil)
	if err != nil {
		return nil, err
	}
	for i := range t.Keys {
		if t.Keys[i].Key.String() != key {
			continue
		}
		k, words := t.Keys[i], []string{}
		for _, verb := range k.Verbs {
			words = append(words, string(verb))
		}
		slices.Sort(words)
		return &act{Title: "Trust the key of " + k.Name + " no more", Button: "Remove it", IsGrave: true, Back: "/server", Fields: []field{reason()}, Command: []string{"tenet", "trust", "remove-key", key},
			Effects: []string{"Hosts accept nothing more that it signs. Until now that is: " + strings.Join(words, ", ") + ".", "Hosts that are away learn it when they come back."},
			Do: func(form url.Values) (string, error) {
				return "The key of " + k.Name + " is trusted no more.", v.send(http.MethodPost, "/v1/trust/keys/remove", map[string]any{"key": key, "reason": form.Get("reason")}, nil)
			}}, nil
	}
	return nil, &api.Problem{Status: http.StatusNotFound, Title: "Not found", Detail: "The trust document has no such key.", Hint: "The page of the server lists those that it has."}
}
