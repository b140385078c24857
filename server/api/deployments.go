package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/deploy"
)

// Deployment is a revision of a site for some hosts.
type Deployment struct {
	ID       int64                `json:"id"`
	Site     string               `json:"site"`
	Revision int64                `json:"revision"`
	By       string               `json:"by"`
	At       time.Time            `json:"at"`
	Message  string               `json:"message,omitempty"`
	Hosts    string               `json:"hosts" doc:"The selector."`
	Consent  string               `json:"consent,omitempty" doc:"start or approve: what it needs before it begins."`
	Empty    bool                 `json:"empty,omitempty"`
	Signed   bool                 `json:"signed,omitempty" doc:"Hosts get what somebody else than the server has signed."`
	Phase    string               `json:"phase" doc:"planned, rolling, paused, done, failed, aborted or superseded."`
	Why      *Reason              `json:"why,omitempty" doc:"Why it stands there, unless it goes on by itself."`
	Turn     int                  `json:"turn,omitempty" doc:"The batch that has begun last; one more than there are: that of hosts that come late."`
	Turns    int                  `json:"turns,omitempty" doc:"How many batches there are."`
	Plan     *DeployPlan          `json:"plan,omitempty" doc:"What the hosts that have planned would do, where a consent is needed."`
	Approved string               `json:"approved,omitempty" doc:"By whom."`
	Batches  []DeployBatch        `json:"batches,omitempty" doc:"Of one that is shown with its hosts: the batches, in their order; none where not all hosts may be read."`
	Members  []*DeployHost        `json:"members,omitempty"`
	Counts   *deploy.MemberCounts `json:"counts,omitempty" doc:"Of one that is shown: its hosts by how they stand."`
	Acts     []DeployAct          `json:"acts,omitempty" doc:"Of one that is shown: what can be done with it, and to how many hosts."`
}

// DeployBatch is what begins at once.
type DeployBatch struct {
	Label string `json:"label" doc:"For people, such as: stage web, batch 1 of 3."`
	Hosts int    `json:"hosts"`
}

// DeployAct is something that can be done with a deployment in its phase.
type DeployAct struct {
	Act   string `json:"act" enum:"start,approve,pause,continue,abort"`
	May   bool   `json:"may" doc:"The caller may do it."`
	Hosts int    `json:"hosts" doc:"How many hosts it concerns: those that have not begun."`
	Says  string `json:"says" doc:"What it will do, for people."`
}

// Reason is why something waits, is out or has failed.
type Reason struct {
	Code  string     `json:"code"`
	Text  string     `json:"text"`
	Since time.Time  `json:"since"`
	Until *time.Time `json:"until,omitempty" doc:"When it is looked at again by itself."`
	Ask   string     `json:"ask,omitempty" doc:"What a person can do about it."`
}

func reasonOf(r deploy.Reason) *Reason {
	if r.Code == "" {
		return nil
	}
	out := &Reason{Code: string(r.Code), Text: r.Text, Since: r.Since, Ask: r.Ask}
	if !r.Until.IsZero() {
		out.Until = &r.Until
	}
	return out
}

// DeployPlan is the plans of many hosts as one list.
type DeployPlan struct {
	Digest string   `json:"digest" doc:"An approval names it."`
	Hosts  []string `json:"hosts" nullable:"false" doc:"Those that have planned. Rows name them by their index."`
	Rows   any      `json:"rows"`
}

// DeployHost is a host of a deployment.
type DeployHost struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	State string  `json:"state" doc:"pending, begun, ready, failed or out."`
	Batch int     `json:"batch,omitempty" doc:"In which it was to begin when the deployment was made, from 1; only where batches are shown."`
	Turn  int     `json:"turn,omitempty" doc:"In which it has begun; none: it has not."`
	Why   *Reason `json:"why,omitempty"`
}

func deploymentOf(d *deploy.Deployment) *Deployment {
	out := &Deployment{ID: d.ID, Site: d.Site, Revision: d.Number, By: d.By, At: d.At, Message: d.Message, Hosts: d.Selector, Consent: string(d.Consent), Empty: d.Empty, Signed: d.Signed,
		Phase: string(d.Phase), Why: reasonOf(d.Why), Turn: d.Progress.Turn, Turns: d.Turns()}
	if d.Plan != nil {
		out.Plan = &DeployPlan{Digest: d.Plan.Digest.String(), Hosts: append([]string{}, d.Plan.Hosts...), Rows: d.Plan.Rows}
	}
	if d.Approved != nil {
		out.Approved = d.Approved.By
	}
	batchOf := map[string]int{}
	for i, b := range d.Batches {
		out.Batches = append(out.Batches, DeployBatch{b.Label(), len(b.Machines)})
		for _, name := range b.Machines {
			batchOf[name] = i + 1
		}
	}
	for _, h := range d.Hosts {
		one := deployHostOf(h)
		one.Batch = batchOf[h.Name]
		out.Members = append(out.Members, one)
	}
	return out
}

func deployHostOf(h *deploy.Host) *DeployHost {
	return &DeployHost{ID: string(h.ID), Name: h.Name, State: string(h.Summary()), Turn: h.Turn, Why: reasonOf(h.Why)}
}

type deploymentOutput struct{ Body *Deployment }

// DeploymentID is the input of all that is about one deployment.
type DeploymentID struct {
	ID int64 `path:"id" minimum:"1"`
}

type createDeployment struct {
	Body struct {
		Site     string `json:"site" minLength:"1" maxLength:"200"`
		Revision int64  `json:"revision,omitempty" minimum:"0" doc:"Without it, the newest."`
		Hosts    string `json:"hosts,omitempty" maxLength:"4096" doc:"A selector; without it, all, and those that are new later."`
		Consent  string `json:"consent,omitempty" enum:"start,approve" doc:"What it needs before it begins: that somebody starts it, or that another person approves its plan."`
		Empty    bool   `json:"empty,omitempty" doc:"That nothing is wanted of a host any more, or that rules delete all that they have made, is meant."`
		Deadline int    `json:"deadline,omitempty" minimum:"0" maximum:"604800" doc:"In how many seconds a host that is at hand has to be ready; without it, an hour."`
		Message  string `json:"message,omitempty" maxLength:"1000" doc:"Why, for people and the audit."`
		Signed   bool   `json:"signed,omitempty" doc:"Hosts get what was signed elsewhere and uploaded; the server evaluates nothing."`
	}
}

type approveDeployment struct {
	DeploymentID
	Body struct {
		Plan   string `json:"plan" minLength:"64" maxLength:"64" doc:"The digest of the plan that was seen."`
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type steerDeployment struct {
	DeploymentID
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why, for the audit."`
	}
}

type deploymentsInput struct {
	Page
	Site  string   `query:"site" maxLength:"200" doc:"Only those of this site."`
	Phase []string `query:"phase" maxItems:"7" enum:"planned,rolling,paused,done,failed,aborted,superseded" doc:"Only those in one of these phases."`
}

type deploymentInput struct {
	DeploymentID
	Members string `query:"members" enum:"all,plan,none" default:"all" doc:"Whether its hosts and their plan are shown, or the plan alone: there may be many, and list-deployment-members has them in pages."`
}

type membersInput struct {
	DeploymentID
	Page
	State []string `query:"state" maxItems:"5" enum:"pending,begun,ready,failed,out" doc:"Only those in one of these states."`
}

func (a *API) registerDeployments() {
	op := func(id, method, path, summary, description string, verb access.Verb, codes ...string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "deployments", Summary: summary, Description: description, Scope: Somewhere, Verb: verb, Codes: append(codes, access.CodeForbidden)}
	}
	Register(a, op("list-deployments", http.MethodGet, "/v1/deployments", "List deployments.", "The newest first, without their hosts.", access.Read, codeCursor), a.listDeployments)
	Register(a, op("show-deployment", http.MethodGet, "/v1/deployments/{id}", "Show a deployment.", "With those of its hosts that the caller may read, how many stand how, and what can be done with it; who may not read all sees no plan.", access.Read, deploy.ErrNotFound),
		a.showDeployment)
	Register(a, op("list-deployment-members", http.MethodGet, "/v1/deployments/{id}/members", "List the hosts of a deployment.", "In its order, those that the caller may read.", access.Read, deploy.ErrNotFound, codeCursor), a.listMembers)
	create := op("create-deployment", http.MethodPost, "/v1/deployments", "Deploy a revision.", "It begins by itself, unless it needs a consent. The caller must be allowed to deploy to each of its hosts.", access.Deploy, deploy.ErrNotFound, deploy.ErrInvalid, deploy.ErrFull, deploy.ErrSign)
	create.Status = http.StatusCreated
	Register(a, create, func(ctx context.Context, c *access.Caller, in *createDeployment) (*deploymentOutput, error) {
		return a.deployment(func(s *deploy.Service) (*deploy.Deployment, error) {
			b := in.Body
			return s.Create(ctx, c, deploy.Request{Site: b.Site, Revision: b.Revision, Hosts: b.Hosts, Consent: deploy.Consent(b.Consent), Empty: b.Empty,
				Deadline: time.Duration(b.Deadline) * time.Second, Message: b.Message, Signed: b.Signed})
		})
	})
	// One that only needs a start takes the verb deploy, which the service looks at.
	Register(a, op("approve-deployment", http.MethodPost, "/v1/deployments/{id}/approve", "Have a deployment begin by the plan that was seen.",
		"Where it needs an approval, this is another person's than the one who has asked for it.", access.Approve, deploy.ErrPlan, deploy.ErrPhase, access.CodeSamePerson, deploy.ErrNotFound), a.approveDeployment)
	Register(a, op("start-deployment", http.MethodPost, "/v1/deployments/{id}/start", "Start a deployment by the plan that was seen.",
		"For one that waits to be started.", access.Deploy, deploy.ErrPlan, deploy.ErrPhase, deploy.ErrNotFound), a.approveDeployment)
	for _, act := range []struct {
		name, summary, description string
		do                         func(*deploy.Service) func(context.Context, *access.Caller, int64, string) (*deploy.Deployment, error)
	}{
		{"pause", "Pause a deployment.", "Nothing begins until it is continued; hosts that have begun go on.", func(s *deploy.Service) func(context.Context, *access.Caller, int64, string) (*deploy.Deployment, error) {
			return s.Pause
		}},
		{"continue", "Continue a deployment that is paused.", "One that is paused since no host of a batch is at hand goes on without these.", func(s *deploy.Service) func(context.Context, *access.Caller, int64, string) (*deploy.Deployment, error) {
			return s.Continue
		}},
		{"abort", "End a deployment.", "Hosts that have not begun keep what they have; those that have begun go on.", func(s *deploy.Service) func(context.Context, *access.Caller, int64, string) (*deploy.Deployment, error) {
			return s.Abort
		}},
	} {
		Register(a, op(act.name+"-deployment", http.MethodPost, "/v1/deployments/{id}/"+act.name, act.summary, act.description, access.Deploy, deploy.ErrPhase, deploy.ErrNotFound),
			func(ctx context.Context, c *access.Caller, in *steerDeployment) (*deploymentOutput, error) {
				return a.deployment(func(s *deploy.Service) (*deploy.Deployment, error) { return act.do(s)(ctx, c, in.ID, in.Body.Reason) })
			})
	}
}

// deployment answers with one.
func (a *API) deployment(get func(*deploy.Service) (*deploy.Deployment, error)) (*deploymentOutput, error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	d, err := get(s)
	if err != nil {
		return nil, err
	}
	return &deploymentOutput{deploymentOf(d)}, nil
}

func (a *API) approveDeployment(ctx context.Context, c *access.Caller, in *approveDeployment) (*deploymentOutput, error) {
	var plan trust.Digest
	if err := plan.UnmarshalText([]byte(in.Body.Plan)); err != nil {
		return nil, newProblem(deploy.ErrInvalid, "the plan is named by a digest of 64 hexadecimal digits", "show the deployment")
	}
	return a.deployment(func(s *deploy.Service) (*deploy.Deployment, error) {
		return s.Approve(ctx, c, in.ID, plan, in.Body.Reason)
	})
}

func (a *API) listDeployments(ctx context.Context, c *access.Caller, in *deploymentsInput) (*ListOutput[*Deployment], error) {
	s, err := a.deployments()
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("list-deployments %q %q", in.Site, in.Phase)
	var before int64
	if _, err := a.ReadCursor(c, list, in.Cursor, &before); err != nil {
		return nil, err
	}
	f := deploy.Filter{Site: in.Site, Before: before, Limit: in.Limit + 1}
	for _, p := range in.Phase {
		f.Phases = append(f.Phases, deploy.Phase(p))
	}
	found, err := s.Deployments(ctx, c, f)
	if err != nil {
		return nil, err
	}
	var out []*Deployment
	for _, d := range found {
		out = append(out, deploymentOf(d))
	}
	return NewPage(a, c, list, in.Limit, out, func(d *Deployment) any { return d.ID })
}
