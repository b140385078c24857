package compose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/runtime/source/margo"
	"github.com/tenetcm/tenet/runtime/source/margo/rc2"
)

// Options say how components are run.
type Options struct {
	Program   []string // empty: docker compose
	Directory string   // empty: that of std/margo_compose
}

// Deployment is one of which all packages are there.
type Deployment struct {
	margo.Wanted
	Packages map[string]Package // by component
}

// Project is the name of a component, in a site and for Compose: one for each component of each deployment.
func Project(deployment, component string) string {
	if plainID().MatchString(deployment) {
		return "margo_" + deployment + "_" + component
	}
	sum := sha256.Sum256([]byte(deployment))
	return "margo_x" + hex.EncodeToString(sum[:12]) + "_" + component
}

// plainID are ids that can be part of a project's name. One of them beginning with x could be taken for a digest.
var plainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-wyz0-9-][a-z0-9-]*$`) })

// line stands in a site that has a deployment as it is wanted.
func (d Deployment) line() string {
	if d.Document == nil {
		return fmt.Sprintf("# %s is to go.\n", d.ID)
	}
	return fmt.Sprintf("# %s is %s.\n", d.ID, d.Revision)
}

// InSite gives the deployments that a site has as they are wanted: others could not be made part of it, and what becomes of it says
// nothing of them.
func InSite(site []byte, wanted []margo.Wanted) (out []Deployment) {
	for _, w := range wanted {
		if d := (Deployment{Wanted: w}); bytes.Contains(site, []byte("\n"+d.line())) {
			out = append(out, d)
		}
	}
	return out
}

// Site gives the text of a site, in HCL. Components of a deployment come one after the other, and what goes of it goes first.
func Site(deployments []Deployment, o Options) []byte {
	file := hclwrite.NewEmptyFile()
	file.Body().AppendUnstructuredTokens(hclwrite.Tokens{{Bytes: []byte("# Written by tenet watch for a device of Margo, anew with each manifest: changes get lost.\n")}})
	for _, d := range deployments {
		file.Body().AppendUnstructuredTokens(hclwrite.Tokens{{Bytes: []byte(d.line())}})
		var gone []string
		for _, name := range d.Remove {
			project := Project(d.ID, name)
			writeComponent(file.Body(), project, nil, nil, o.vars(project, map[string]cty.Value{"removed": cty.True}))
			gone = append(gone, "component."+project)
		}
		if d.Document == nil {
			continue
		}
		var before []string
		for _, c := range d.Document.Components {
			project := Project(d.ID, c.Name)
			vars := map[string]cty.Value{
				"package":  cty.StringVal(d.Packages[c.Name].Path),
				"checksum": cty.StringVal(string(d.Packages[c.Name].Digest)),
				"wait":     cty.BoolVal(c.Wait),
				"timeout":  cty.NumberIntVal(int64(c.Timeout.Seconds())),
			}
			if environment := Environment(*d.Document, c.Name); len(environment) > 0 {
				values := map[string]cty.Value{}
				for name, value := range environment {
					values[name] = cty.StringVal(value)
				}
				vars["environment"] = cty.MapVal(values)
			}
			writeComponent(file.Body(), project, before, gone, o.vars(project, vars))
			before, gone = []string{"component." + project}, nil
		}
	}
	return hclwrite.Format(file.Bytes())
}

func (o Options) vars(project string, vars map[string]cty.Value) cty.Value {
	vars["project"] = cty.StringVal(project)
	if o.Directory != "" {
		vars["directory"] = cty.StringVal(o.Directory)
	}
	if len(o.Program) > 0 {
		var words []cty.Value
		for _, word := range o.Program {
			words = append(words, cty.StringVal(word))
		}
		vars["program"] = cty.ListVal(words)
	}
	return cty.ObjectVal(vars)
}

func writeComponent(body *hclwrite.Body, project string, require, follows []string, vars cty.Value) {
	body.AppendNewline()
	block := body.AppendNewBlock("component", []string{project}).Body()
	block.SetAttributeValue("source", cty.StringVal("std/margo_compose"))
	block.SetAttributeValue("vars", vars)
	for _, a := range []struct { // in this order: the same manifest is the same site
		name       string
		references []string
	}{{"require", require}, {"follows", follows}} {
		if len(a.references) > 0 {
			block.SetAttributeRaw(a.name, hclwrite.Tokens{{Bytes: []byte("[" + strings.Join(a.references, ", ") + "]")}})
		}
	}
}

// Environment gives the parameters of a component, by the variables that they go to.
func Environment(d rc2.Deployment, component string) map[string]string {
	out := map[string]string{}
	for _, p := range d.Parameters {
		for _, t := range p.Targets {
			for _, name := range t.Components {
				if name == component {
					out[t.Pointer] = p.Value
				}
			}
		}
	}
	return out
}

// variable is a name that a parameter may go to.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// ownVariable are those by which Compose and its programs run.
var ownVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(COMPOSE_|CONTAINERS_|DOCKER_|PODMAN_|LD_|PYTHON|(CONTAINER_HOST|PATH|HOME)$)`)
})

// maxValue bounds a value: Linux takes 128 KiB of a variable, and a character has up to four bytes.
const maxValue = 32000

// Judge tells what of a deployment cannot be run, before anything is made of it: parameters that the environment of a program cannot hold.
func Judge(d rc2.Deployment) *rc2.Error {
	known := map[string]bool{}
	for _, c := range d.Components {
		known[c.Name] = true
	}
	for _, p := range d.Parameters {
		for _, t := range p.Targets {
			if why := complain(t, p.Value, known); why != "" {
				return &rc2.Error{Code: margo.CodeParameter, Message: fmt.Sprintf("the parameter %.100q: %s", p.Name, why)}
			}
		}
	}
	return nil
}

func complain(t rc2.Target, value string, components map[string]bool) string {
	for _, name := range t.Components {
		if !components[name] {
			return fmt.Sprintf("there is no component %.100q", name)
		}
	}
	switch {
	case !variable().MatchString(t.Pointer):
		return fmt.Sprintf("its pointer %.100q is no name of a variable, as compose wants it", t.Pointer)
	case ownVariable().MatchString(t.Pointer):
		return fmt.Sprintf("the variable %.100s is one by which Compose and its programs run", t.Pointer)
	case utf8.RuneCountInString(value) > maxValue:
		return fmt.Sprintf("its value has more than %d characters, which no variable holds", maxValue)
	case strings.Contains(value, "\x00"):
		return "its value has the character with the number 0, which no variable holds"
	}
	return ""
}
