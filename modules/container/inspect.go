package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// label is that of a container which holds what it was made of.
const label = "io.tenetcm.container"

// definition is what a container is made of, but for the values of its variables. The
// engines keep all of it, but each in other words.
type definition struct {
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"`
	Ports   []string `json:"ports,omitempty"`
	Volumes []string `json:"volumes,omitempty"`
	Devices []string `json:"devices,omitempty"`
	Network string   `json:"network,omitempty"`
	Restart string   `json:"restart,omitempty"`
	Options []string `json:"options,omitempty"`
	// Environment are the names of the variables.
	Environment []string `json:"environment,omitempty"`
}

// definitionOf gives that of a container, without its variables.
func definitionOf(c Container) definition {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	return definition{
		Image: text(c.Image), Command: c.Command, Ports: c.Ports, Volumes: c.Volumes, Devices: c.Devices,
		Network: text(c.Network), Restart: text(c.Restart), Options: c.Options,
	}
}

// equal compares what a container is made of; no list is an empty one.
func (d definition) equal(other definition) bool {
	a, errA := json.Marshal(d)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && reflect.DeepEqual(a, b)
}

func (d definition) encode(env map[string]string) (string, error) {
	d.Environment = slices.Sorted(maps.Keys(env))
	data, err := json.Marshal(d)
	return string(data), err
}

// inspection is what both engines say of a container: docker's
// "GET /containers/ID/json", of which podman's is a superset but for ImageName.
type inspection struct {
	Image     string
	ImageName string // podman's; docker's is Config.Image
	State     struct {
		Running  bool
		ExitCode int
	}
	Config struct {
		Image  string
		Env    []string
		Labels map[string]string
	}
}

func parse(out string) (*inspection, error) {
	var list []inspection
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("what inspect prints cannot be read: %w", err)
	}
	if len(list) != 1 {
		return nil, errors.New("inspect does not print one container")
	}
	return &list[0], nil
}

// imageID is the number of its image, without the name of the hash.
func (c *inspection) imageID() string { return strings.TrimPrefix(c.Image, "sha256:") }

// container is the container as it might be declared. Of one that carries no label
// only the image is told.
func (c *inspection) container() *Container {
	have := &Container{Running: &c.State.Running}
	var d definition
	text, ours := c.Config.Labels[label]
	if !ours || json.Unmarshal([]byte(text), &d) != nil {
		image := c.ImageName
		if image == "" {
			image = c.Config.Image
		}
		have.Image = &image
		return have
	}
	filled := func(list []string) []string { return append([]string{}, list...) }
	have.Image, have.Command, have.Options = &d.Image, filled(d.Command), filled(d.Options)
	have.Ports, have.Volumes, have.Devices = filled(d.Ports), filled(d.Volumes), filled(d.Devices)
	have.Environment = map[string]string{}
	for _, entry := range c.Config.Env {
		if name, value, ok := strings.Cut(entry, "="); ok && slices.Contains(d.Environment, name) {
			have.Environment[name] = value
		}
	}
	if d.Network != "" {
		have.Network = &d.Network
	}
	if d.Restart != "" {
		have.Restart = &d.Restart
	}
	return have
}
