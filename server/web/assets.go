package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"

	"github.com/tenetcm/tenet/internal/ui/drawing"
	"github.com/tenetcm/tenet/internal/ui/look"
)

//go:embed assets
var assetFiles embed.FS

// assets are files that pages load: styles and scripts.
type assets struct {
	content  map[string][]byte
	versions map[string]string
}

func loadAssets() (*assets, error) {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	a := &assets{map[string][]byte{}, map[string]string{}}
	for _, e := range entries {
		content, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		a.add(e.Name(), content)
	}
	a.add("look.css", []byte(look.CSS))
	a.add("graph.js", []byte(drawing.Script))
	return a, nil
}

func (a *assets) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	a.content[name], a.versions[name] = content, hex.EncodeToString(sum[:6])
}

// url names a file by its content, too: browsers keep it until it changes.
func (a *assets) url(name string) string { return "/assets/" + name + "?v=" + a.versions[name] }

// ServeHTTP serves a file.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, known := a.content[name]
	if !known {
		http.NotFound(w, r)
		return
	}
	tag := `"` + a.versions[name] + `"`
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.versions[name] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(content) // who does not read it gets none
}
