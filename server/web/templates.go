package web

import (
	"embed"
	"html/template"
	"path"
	"strings"

	"github.com/tenetcm/tenet/internal/ui/drawing"
	"github.com/tenetcm/tenet/internal/ui/rows"
)

//go:embed templates
var templateFiles embed.FS

// loadTemplates parses each page within the frame of all.
func (p *Pages) loadTemplates() (map[string]*template.Template, error) {
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	shared := template.New("").Funcs(p.functions())
	for _, text := range []string{rows.Templates, drawing.Templates} { // those of plans, runs and graphs
		if shared, err = shared.Parse(text); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if !isShared(e.Name()) {
			continue
		}
		if shared, err = shared.ParseFS(templateFiles, "templates/"+e.Name()); err != nil {
			return nil, err
		}
	}
	list := map[string]*template.Template{}
	for _, e := range entries {
		if isShared(e.Name()) {
			continue
		}
		t, err := shared.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, "templates/"+e.Name())
		}
		if err != nil {
			return nil, err
		}
		list[strings.TrimSuffix(e.Name(), path.Ext(e.Name()))] = t
	}
	return list, nil
}

// isShared tells files whose templates all pages have.
func isShared(name string) bool { return name == "frame.html" || strings.HasPrefix(name, "shared-") }
