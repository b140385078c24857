package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// SourcedGrant is a grant, and by what somebody has it: "own", or "role NAME".
type SourcedGrant struct {
	Grant
	Source string `json:"source"`
}

// Person is somebody who can log in to a server.
type Person struct {
	Name     string         `json:"name"`
	Roles    []string       `json:"roles"`
	Grants   []Grant        `json:"grants"`
	Groups   []string       `json:"groups"`
	Issuer   string         `json:"issuer,omitempty"`
	Subject  string         `json:"subject,omitempty"`
	Password bool           `json:"password"`
	Made     time.Time      `json:"made"`
	Login    *time.Time     `json:"login,omitempty"`
	May      []SourcedGrant `json:"may,omitempty"` // with one person alone: all that they may do
}

// PersonChange says what a person is to be; what is nil stays.
type PersonChange struct {
	Password *string   `json:"password,omitempty"` // empty: none
	Roles    *[]string `json:"roles,omitempty"`
	Grants   *[]Grant  `json:"grants,omitempty"`
	Issuer   *string   `json:"issuer,omitempty"`
	Subject  *string   `json:"subject,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Role is a list of grants with a name.
type Role struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	Grants []Grant  `json:"grants"`
}

// Program is the token of a program. Secret is there where it was just made.
type Program struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Grants []Grant    `json:"grants"`
	Made   time.Time  `json:"made"`
	Used   *time.Time `json:"used,omitempty"`
	Ends   time.Time  `json:"ends"`
	Secret string     `json:"secret,omitempty"`
}

func reasonQuery(reason string) url.Values {
	if reason == "" {
		return nil
	}
	return url.Values{"reason": {reason}}
}

func personPath(name string) string { return "/v1/people/" + url.PathEscape(name) }

// People lists people by their names.
func (c *Client) People(ctx context.Context) iter.Seq2[Person, error] {
	return Items[Person](ctx, c, "/v1/people", nil)
}

// Person shows one, with all that they may do.
func (c *Client) Person(ctx context.Context, name string) (Person, error) {
	return Call[Person](ctx, c, http.MethodGet, personPath(name), nil, nil)
}

// AddPerson adds one.
func (c *Client) AddPerson(ctx context.Context, name string, change PersonChange) (Person, error) {
	return Call[Person](ctx, c, http.MethodPost, "/v1/people", nil, struct {
		Name string `json:"name"`
		PersonChange
	}{name, change})
}

// ChangePerson changes one.
func (c *Client) ChangePerson(ctx context.Context, name string, change PersonChange) (Person, error) {
	return Call[Person](ctx, c, http.MethodPatch, personPath(name), nil, change)
}

// RemovePerson removes one.
func (c *Client) RemovePerson(ctx context.Context, name, reason string) error {
	_, err := Call[struct{}](ctx, c, http.MethodDelete, personPath(name), reasonQuery(reason), nil)
	return err
}

// Right is what somebody may do by one verb.
type Right struct {
	Verb       string         `json:"verb"`
	May        bool           `json:"may"`
	Everywhere bool           `json:"everywhere"` // for all hosts and sites
	Grants     []SourcedGrant `json:"grants"`
}

// Rights tells what somebody may do, by one verb or by each; for a host and a site, if these are not empty.
func (c *Client) Rights(ctx context.Context, person, verb, host, site string) ([]Right, error) {
	query := url.Values{}
	for name, value := range map[string]string{"verb": verb, "host": host, "site": site} {
		if value != "" {
			query.Set(name, value)
		}
	}
	list, err := Call[List[Right]](ctx, c, http.MethodGet, personPath(person)+"/may", query, nil)
	return list.Items, err
}

// Roles lists roles.
func (c *Client) Roles(ctx context.Context) iter.Seq2[Role, error] {
	return Items[Role](ctx, c, "/v1/roles", nil)
}

// PutRole makes or replaces a role.
func (c *Client) PutRole(ctx context.Context, r Role, reason string) error {
	_, err := Call[struct{}](ctx, c, http.MethodPut, "/v1/roles/"+url.PathEscape(r.Name), nil, map[string]any{"groups": r.Groups, "grants": r.Grants, "reason": reason})
	return err
}

// RemoveRole removes a role from everybody.
func (c *Client) RemoveRole(ctx context.Context, name, reason string) error {
	_, err := Call[struct{}](ctx, c, http.MethodDelete, "/v1/roles/"+url.PathEscape(name), reasonQuery(reason), nil)
	return err
}

// Programs lists the tokens of one's own programs, or of everybody's.
func (c *Client) Programs(ctx context.Context, all bool) iter.Seq2[Program, error] {
	var query url.Values
	if all {
		query = url.Values{"all": {"true"}}
	}
	return Items[Program](ctx, c, "/v1/programs", query)
}

// AddProgram makes a token for a program.
func (c *Client) AddProgram(ctx context.Context, name string, grants []Grant, ends time.Time, reason string) (Program, error) {
	return Call[Program](ctx, c, http.MethodPost, "/v1/programs", nil, map[string]any{"name": name, "grants": grants, "ends": ends, "reason": reason})
}

// RemoveProgram ends a token.
func (c *Client) RemoveProgram(ctx context.Context, id, reason string) error {
	_, err := Call[struct{}](ctx, c, http.MethodDelete, "/v1/programs/"+url.PathEscape(id), reasonQuery(reason), nil)
	return err
}
