package api

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/contents"
	"github.com/tenetcm/tenet/server/update"
)

// Release is a version of the programs that agents run.
type Release struct {
	Version  string           `json:"version"`
	By       string           `json:"by"`
	At       time.Time        `json:"at"`
	Programs []ReleaseProgram `json:"programs" nullable:"false"`
	Lacking  []ReleaseProgram `json:"lacking" nullable:"false" doc:"Programs that were not uploaded yet."`
}

// ReleaseProgram is a program of a release.
type ReleaseProgram struct {
	Name   string       `json:"name"`
	OS     string       `json:"os"`
	Arch   string       `json:"arch"`
	SHA256 trust.Digest `json:"sha256"`
	Size   int64        `json:"size"`
}

func releaseOf(r *update.Release) Release {
	return Release{r.Version, r.By, r.At, releasePrograms(r.Programs), releasePrograms(r.Lacking)}
}

func releasePrograms(list []trust.Program) []ReleaseProgram {
	out := []ReleaseProgram{}
	for _, p := range list {
		out = append(out, ReleaseProgram{p.Name, p.OS, p.Arch, p.SHA256, p.Size})
	}
	return out
}

type releaseInput struct {
	Body struct {
		Release trust.Signed `json:"release" doc:"As it was signed."`
		Reason  string       `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type releaseOutput struct{ Body Release }

type releaseRemoveInput struct {
	Version string `path:"version" maxLength:"100"`
	Body    struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type programInput struct {
	Digest  string `path:"digest" minLength:"64" maxLength:"64" doc:"The SHA-256 of the program."`
	RawBody []byte `contentType:"application/octet-stream"`
}

// AgentUpdate is an update of the agents of hosts.
type AgentUpdate struct {
	Number   int64         `json:"number"`
	Version  string        `json:"version"`
	By       string        `json:"by"`
	At       time.Time     `json:"at"`
	Message  string        `json:"message,omitempty"`
	Hosts    string        `json:"hosts" doc:"The selector."`
	Phase    string        `json:"phase" doc:"rolling, done, failed or aborted."`
	Reason   string        `json:"reason,omitempty" doc:"Why it does not go on."`
	Turn     int           `json:"turn" doc:"The batch that has begun last."`
	Turns    int           `json:"turns" doc:"How many batches there are."`
	Members  []*UpdateHost `json:"members" nullable:"false"`
	Deadline int           `json:"deadline" doc:"In how many seconds a host that is at hand has to run it."`
}

// UpdateHost is a host of an update.
type UpdateHost struct {
	ID      trust.ID `json:"id"`
	Name    string   `json:"name"`
	State   string   `json:"state" doc:"pending, begun, ready, failed or out."`
	Turn    int      `json:"turn,omitempty" doc:"In which it has begun; none: it has not."`
	Running string   `json:"running,omitempty" doc:"The version that it runs, as it said last."`
	Reason  string   `json:"reason,omitempty"`
}

type updateOutput struct{ Body AgentUpdate }

type updateInput struct {
	Body struct {
		Version     string   `json:"version" minLength:"1" maxLength:"100" doc:"Of a release that the server has."`
		Hosts       string   `json:"hosts,omitempty" maxLength:"4096" doc:"A selector; without it, all."`
		Batch       []string `json:"batch,omitempty" maxItems:"100" nullable:"false" doc:"How many hosts at once, such as 1 and 10%; the last one goes on. Without it: 1, 10%, 100%."`
		MaxFailures string   `json:"max_failures,omitempty" maxLength:"20" doc:"So many may fail; without it, none."`
		Pause       int      `json:"pause,omitempty" minimum:"0" maximum:"604800" doc:"Seconds between batches."`
		Deadline    int      `json:"deadline,omitempty" minimum:"0" maximum:"604800" doc:"In how many seconds a host that is at hand has to run it; without it, an hour."`
		Message     string   `json:"message,omitempty" maxLength:"1000" doc:"Why, for people and the audit."`
	}
}

type updateNumber struct {
	Number int64 `path:"number" minimum:"0" doc:"0: the newest."`
}

type steerUpdate struct {
	updateNumber
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

// updates is the service; an error where there is none.
func (a *API) updates() (*update.Service, error) {
	if a.o.Updates == nil {
		return nil, &diag.HintError{Code: access.CodeNotSupported, Message: "this server updates no agents", Hint: "start it with a folder of its own"}
	}
	return a.o.Updates, nil
}

// releaseOperation is one that is about all hosts.
func releaseOperation(id, method, path, tag, summary, description string, verb access.Verb, codes ...string) Operation {
	return Operation{ID: id, Method: method, Path: path, Tag: tag, Summary: summary, Description: description, Scope: Everywhere, Verb: verb, Codes: append(codes, access.CodeForbidden)}
}

func (a *API) registerReleases() {
	Register(a, releaseOperation("list-releases", http.MethodGet, "/v1/releases", "releases", "List releases.", "Of the programs that agents run, the latest version first.", access.Read),
		func(ctx context.Context, _ *access.Caller, _ *struct{}) (*ListOutput[Release], error) {
			s, err := a.updates()
			if err != nil {
				return nil, err
			}
			list, err := s.Releases(ctx)
			out := []Release{}
			for _, r := range list {
				out = append(out, releaseOf(r))
			}
			return &ListOutput[Release]{List[Release]{Items: out}}, err
		})
	add := releaseOperation("add-release", http.MethodPost, "/v1/releases", "releases", "Add a release.", "One that a key has signed which may release programs. Its programs are uploaded after that.", access.Admin, update.CodeInvalid, update.CodeFull)
	add.Status = http.StatusCreated
	Register(a, add, func(ctx context.Context, c *access.Caller, in *releaseInput) (*releaseOutput, error) {
		s, err := a.updates()
		if err != nil {
			return nil, err
		}
		r, err := s.Add(ctx, c, &in.Body.Release, in.Body.Reason)
		if err != nil {
			return nil, err
		}
		return &releaseOutput{releaseOf(r)}, nil
	})
	Register(a, releaseOperation("remove-release", http.MethodPost, "/v1/releases/{version}/remove", "releases", "Remove a release.", "Not the one that hosts were brought to last.", access.Admin, update.CodeNotFound, update.CodeBusy),
		func(ctx context.Context, c *access.Caller, in *releaseRemoveInput) (*struct{}, error) {
			s, err := a.updates()
			if err != nil {
				return nil, err
			}
			return nil, s.Remove(ctx, c, in.Version, in.Body.Reason)
		})
	put := releaseOperation("upload-program", http.MethodPut, "/v1/releases/programs/{digest}", "releases", "Upload a program.", "One that a release names. To do so once more changes nothing.", access.Admin, update.CodeNotFound, update.CodeInvalid, update.CodeFull)
	put.MaxBody, put.Limit = trust.MaxProgramSize, 10*time.Minute
	Register(a, put, func(ctx context.Context, _ *access.Caller, in *programInput) (*struct{}, error) {
		s, err := a.updates()
		if err != nil {
			return nil, err
		}
		digest, err := contents.ParseDigest(in.Digest)
		if err != nil {
			return nil, newProblem(update.CodeInvalid, err.Error(), "it has 64 lower-case hexadecimal digits")
		}
		return nil, s.Put(ctx, digest, bytes.NewReader(in.RawBody))
	})
}

func (a *API) registerUpdates() {
	Register(a, releaseOperation("show-update", http.MethodGet, "/v1/updates/{number}", "updates", "Show an update.", "With its hosts: what each runs, and why not what is wanted.", access.Read, update.CodeNotFound),
		func(ctx context.Context, _ *access.Caller, in *updateNumber) (*updateOutput, error) {
			return a.update(func(s *update.Service) (*update.Update, error) { return s.Show(ctx, in.Number) })
		})
	start := releaseOperation("start-update", http.MethodPost, "/v1/updates", "updates", "Bring hosts to a release.", "In batches, as long as no more hosts fail than may. One at a time.", access.Admin, update.CodeNotFound, update.CodeLacking, update.CodeBusy, update.CodeInvalid, update.CodeFull)
	start.Status = http.StatusCreated
	Register(a, start, func(ctx context.Context, c *access.Caller, in *updateInput) (*updateOutput, error) {
		b := in.Body
		return a.update(func(s *update.Service) (*update.Update, error) {
			return s.Start(ctx, c, update.Request{Version: b.Version, Hosts: b.Hosts, Batch: b.Batch, MaxFailures: b.MaxFailures,
				Pause: time.Duration(b.Pause) * time.Second, Deadline: time.Duration(b.Deadline) * time.Second, Message: b.Message})
		})
	})
	for act, summary := range map[string][2]string{
		"abort":    {"End an update.", "Hosts keep their program, those too whose turn has begun, unless they have switched already."},
		"continue": {"Go on with an update.", "Without the hosts of a batch that are away."},
	} {
		Register(a, releaseOperation(act+"-update", http.MethodPost, "/v1/updates/{number}/"+act, "updates", summary[0], summary[1], access.Admin, update.CodeNotFound),
			func(ctx context.Context, c *access.Caller, in *steerUpdate) (*updateOutput, error) {
				return a.update(func(s *update.Service) (*update.Update, error) {
					return s.Steer(ctx, c, in.Number, act, in.Body.Reason)
				})
			})
	}
}

// update answers with one.
func (a *API) update(get func(*update.Service) (*update.Update, error)) (*updateOutput, error) {
	s, err := a.updates()
	if err != nil {
		return nil, err
	}
	u, err := get(s)
	if err != nil {
		return nil, err
	}
	out := AgentUpdate{Number: u.Number, Version: u.Version, By: u.By, At: u.At, Message: u.Message, Hosts: u.Selector, Phase: string(u.Phase), Reason: u.Reason,
		Turn: u.Progress.Turn, Turns: len(u.Batches), Members: []*UpdateHost{}, Deadline: int(u.Deadline / time.Second)}
	for _, h := range u.Hosts {
		member := &UpdateHost{ID: h.ID, Name: h.Name, State: string(h.State), Turn: h.Turn, Reason: h.Reason}
		if l := s.Look(h.ID); l.Program != nil {
			member.Running = l.Program.Version
		}
		out.Members = append(out.Members, member)
	}
	return &updateOutput{out}, nil
}
