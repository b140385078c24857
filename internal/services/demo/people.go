package demo

import (
	"context"
	"path/filepath"
	"time"

	"github.com/tenetcm/tenet/server/api/client"
)

// Who acts. The program belongs to the operator.
const (
	operator = "olga"
	approver = "amir"
	reader   = "rita"
	labTeam  = "lena"
	program  = "olga/ci"
)

// cast are the people, without their passwords.
func cast() []Person {
	return []Person{
		{Name: operator, Does: "operates: plans, deploys and runs commands everywhere, takes hosts in"},
		{Name: approver, Does: "approves what others have asked for"},
		{Name: reader, Does: "reads what is about the shop"},
		{Name: labTeam, Does: "deploys the lab's bench, and nothing else"},
	}
}

// roles are what people may do.
func roles() []client.Role {
	return []client.Role{
		{Name: "operators", Groups: []string{}, Grants: grants("*", "*", "read", "plan", "import", "deploy", "exec", "enroll")},
		{Name: "approvers", Groups: []string{}, Grants: grants("*", "*", "read", "approve")},
		{Name: "shop-readers", Groups: []string{}, Grants: grants("role=web,role=proxy,role=database", "shop", "read")},
		{Name: "lab-team", Groups: []string{}, Grants: grants("role=bench", "lab", "read", "plan", "deploy")},
	}
}

// roleOfPerson is the role of each person.
func roleOfPerson(name string) string {
	return map[string]string{operator: "operators", approver: "approvers", reader: "shop-readers", labTeam: "lab-team"}[name]
}

func grants(hosts, site string, verbs ...string) (all []client.Grant) {
	for _, verb := range verbs {
		all = append(all, client.Grant{Verb: verb, Hosts: hosts, Site: site})
	}
	return all
}

// addPeople adds the people, and logs those in who act.
func (d *Demo) addPeople(ctx context.Context) error {
	admin := d.as(d.Admin)
	for _, r := range roles() {
		if err := admin.PutRole(ctx, r, "who does what in this demo"); err != nil {
			return err
		}
	}
	var all []func() error
	for _, p := range d.people {
		all = append(all, func() error { return d.addPerson(ctx, p) })
	}
	if err := together(all...); err != nil {
		return err
	}
	const valid = 30 * 24 * time.Hour
	made, err := d.as(operator).AddProgram(ctx, "ci", grants("*", "shop", "read", "plan", "deploy"), time.Now().Add(valid), "builds of the shop are uploaded by it")
	if err != nil {
		return err
	}
	c, err := d.logIn(ctx, client.Credentials{Name: program, Token: made.Secret})
	d.set(program, c)
	return err
}

func (d *Demo) addPerson(ctx context.Context, p Person) error {
	role := []string{roleOfPerson(p.Name)}
	if _, err := d.as(d.Admin).AddPerson(ctx, p.Name, client.PersonChange{Password: &p.Password, Roles: &role, Reason: "a member of the team"}); err != nil {
		return err
	}
	if p.Name == reader {
		return nil // whoever looks at the demo logs in by that name
	}
	c, err := d.logIn(ctx, client.Credentials{Name: p.Name, Password: p.Password})
	d.set(p.Name, c)
	return err
}

// logIn logs somebody in, as the command line does.
func (d *Demo) logIn(ctx context.Context, with client.Credentials) (*client.Client, error) {
	with.URL, with.Authority = d.URL, d.Authority
	return client.Login(ctx, filepath.Join(d.Dir, "logins", filepath.Base(with.Name)), with)
}

// as gives somebody's client.
func (d *Demo) as(name string) *client.Client {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clients[name]
}

func (d *Demo) set(name string, c *client.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[name] = c
}
