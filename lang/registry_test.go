package lang_test

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// The modules of the tests: small ones with the attributes of the real ones.

type file struct {
	Path    string         `state:"path,key,path" doc:"Path."`
	Content *host.Content  `state:"content" doc:"Content."`
	Source  *states.Source `state:"source" doc:"A file of the site."`
	Owner   *string        `state:"owner" doc:"Owner."`
	Mode    *fs.FileMode   `state:"mode" doc:"Permission bits."`
	Size    *int           `state:"size,out" doc:"Size in bytes."`
	Backup  *bool          `state:"backup,in" doc:"Keep the old one."`
}

type command struct {
	Name    string            `state:"name,key" doc:"Name."`
	Argv    []string          `state:"argv,required" doc:"Program and arguments."`
	Creates *string           `state:"creates,path" doc:"What it makes."`
	Env     map[string]string `state:"env" doc:"Environment."`
	Wait    *time.Duration    `state:"wait" doc:"How long it may take."`
	Count   *int              `state:"count" doc:"How often."`
	Groups  []string          `state:"groups,set" doc:"Groups."`
	Scope   *string           `state:"scope" enum:"system,user" doc:"Scope."`
	Stdout  *string           `state:"stdout,out" doc:"Output."`
	Code    *int              `state:"exit_code,out" doc:"Exit status."`

	ChangedIf *states.Condition `state:"changed_if,in" doc:"Condition."`
	FailedIf  *states.Condition `state:"failed_if,in" doc:"Condition."`
}

type reload struct {
	Name string `state:"name,key" doc:"Service."`
}

func read[T any](context.Context, host.Host, T) (*T, error) { return nil, nil }

func write[T any](context.Context, host.Host, *T, T) error { return nil }

func act[T any](context.Context, host.Host, T) (bool, T, error) { return true, *new(T), nil }

func registry() *states.Registry {
	return states.NewRegistry(
		states.Define(states.Type[file]{Name: "file", Doc: "A file.", Read: read[file], Write: write[file],
			Remove: func(context.Context, host.Host, file) error { return nil },
			Validate: func(f file) error {
				var path, content error
				if f.Path == "" || f.Path[0] != '/' {
					path = states.InvalidAttribute("path", "the path is not absolute", "begin it with /")
				}
				if f.Content != nil && f.Source != nil {
					content = errors.New("content and source exclude each other")
				}
				return errors.Join(path, content)
			}}),
		states.Define(states.Type[command]{Name: "command", Doc: "A command.", Act: act[command],
			NoAbsent: "a command leaves nothing that could be removed"}),
		states.Define(states.Type[reload]{Name: "reload", Doc: "A reload.", Act: act[reload], Handler: true,
			NoAbsent: "it is an act"}),
	)
}
