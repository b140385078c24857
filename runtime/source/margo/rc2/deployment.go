package rc2

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tenetcm/tenet/lang/document"
)

// Types of deployments.
const (
	TypeCompose = "compose"
	TypeHelm    = "helm"
)

// Deployment is an ApplicationDeployment: an application as it is to run on a device.
type Deployment struct {
	ID          string
	Name        string // of the deployment: metadata.name
	Device      string // which is to run it; its last part may be "*": any child
	Application string
	Type        string
	Components  []Component
	Rules       []Rule // one of which the device is to fit, where there are any
	Parameters  []Parameter
}

// Component is one package of an application. Those of a deployment are installed in their order.
type Component struct {
	Name       string
	Repository string // oci://HOST/PATH
	Revision   string // tag
	Wait       bool   // the next one begins when it runs
	Timeout    time.Duration
}

// DefaultTimeout is how long an installation may take of which nothing else is said.
const DefaultTimeout = 5 * time.Minute

// Parameter is a value, and where it goes.
type Parameter struct {
	Name    string
	Value   string
	Targets []Target
}

// Target is a place for a parameter: for compose a variable of the environment.
type Target struct {
	Pointer    string
	Components []string
}

// ReadDeployment reads the document of a deployment.
func ReadDeployment(data []byte) (Deployment, error) {
	node, err := read("deployment", "deployment.yaml", data, MaxDeployment)
	if err != nil {
		return Deployment{}, err
	}
	meta, spec := below(node, "metadata"), below(node, "spec")
	profile := below(spec, "deploymentProfile")
	d := Deployment{
		ID: text(node, "id"), Name: text(meta, "name"), Device: text(meta, "deviceId"),
		Application: text(spec, "applicationId"), Type: text(profile, "type"),
	}
	for _, item := range items(profile, "components") {
		c, err := readComponent(item)
		if err != nil {
			return d, err
		}
		if slices.ContainsFunc(d.Components, func(o Component) bool { return o.Name == c.Name }) {
			return d, fmt.Errorf("%s: the component %s is there twice", item.Range, c.Name)
		}
		d.Components = append(d.Components, c)
	}
	for _, item := range items(below(profile, "deviceConstraints"), "eligibilityRules") {
		d.Rules = append(d.Rules, readRule(item))
	}
	for _, f := range below(spec, "parameters").Fields {
		d.Parameters = append(d.Parameters, readParameter(f))
	}
	slices.SortFunc(d.Parameters, func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) })
	return d, nil
}

func readComponent(n *document.Node) (Component, error) {
	p := below(n, "properties")
	c := Component{Name: text(n, "name"), Repository: text(p, "repository"), Revision: text(p, "revision"), Wait: true, Timeout: DefaultTimeout}
	if wait, ok := below(p, "wait").Value.(bool); ok {
		c.Wait = wait
	}
	if given := text(p, "timeout"); given != "" {
		var err error
		if c.Timeout, err = time.ParseDuration(given); err != nil || c.Timeout < time.Second || c.Timeout > 24*time.Hour {
			return c, fmt.Errorf("%s: the timeout of %s is from 0m1s to 1440m0s, not %s", p.Range, c.Name, given)
		}
	}
	return c, nil
}

func readParameter(f document.Field) Parameter {
	p := Parameter{Name: f.Name, Value: plain(below(f.Value, "value").Value)}
	for _, item := range items(f.Value, "targets") {
		t := Target{Pointer: text(item, "pointer")}
		for _, c := range items(item, "components") {
			t.Components = append(t.Components, plain(c.Value))
		}
		p.Targets = append(p.Targets, t)
	}
	return p
}

// plain gives a scalar as it is written.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(v)
}
