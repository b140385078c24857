package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

// answerDrift answers for hosts that a server asks what differs: web1 has one site, web2 two, web3 none, web4 is away, and web5 cannot plan. What was asked is in the file "asked".
func answerDrift(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET /v1/hosts/{host}/status", func(w http.ResponseWriter, r *http.Request) {
		sites := map[string]string{"web1": `{"shop": {}}`, "web2": `{"shop": {}, "base": {}}`, "web3": `{}`, "web4": `{"shop": {}}`, "web5": `{"shop": {}}`}[r.PathValue("host")]
		fmt.Fprintf(w, `{"sites": %s}`, sites)
	})
	mux.HandleFunc("POST /v1/hosts/{host}/sites/{site}/drift", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = os.WriteFile("asked", fmt.Appendf(nil, "%s %s\n", r.URL.Path, body), 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		row := `{"type": "part", "address": "file.motd", "invocation": "file.motd", "key": "/etc/motd", "action": "update", "changes": [{"attribute": "mode", "from": "0600", "to": "0644"}]}`
		switch host := r.PathValue("host"); {
		case host == "web4":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"status": 503, "code": "away", "detail": "the agent of the host is not connected", "hint": "see whether the host is up"}`)
			return
		case host == "web5":
			row = `{"type": "part", "address": "file.motd", "invocation": "file.motd", "outcome": "failed", "error": {"message": "the disk does not answer"}}`
		case r.PathValue("site") == "base":
			row = `{"type": "part", "address": "file.motd", "invocation": "file.motd", "action": "no change"}`
		}
		fmt.Fprintf(w, `{"at": "2026-01-02T03:04:05Z", "rows": [%s]}`, row)
	})
	return mux
}
