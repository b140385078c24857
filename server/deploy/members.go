package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenetcm/tenet/runtime/rollout"
	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/server/access"
	"github.com/tenetcm/tenet/server/store"
)

// MembersMigration has an index say how the hosts of deployments stand, so that they are counted without being read. A state that is empty was written by a
// former version of the server.
func MembersMigration() store.Migration {
	return store.Migration{Name: "states of hosts of deployments", SQL: `
ALTER TABLE deploy_hosts ADD COLUMN state TEXT NOT NULL DEFAULT '';
CREATE INDEX deploy_hosts_place ON deploy_hosts (deployment, place, host, turn, state);
`}
}

// MemberCounts says how many hosts of a deployment stand how: those that the caller may read.
type MemberCounts struct {
	Hosts    int                   `json:"hosts"`
	Begun    int                   `json:"begun"`     // that have begun, whatever became of them
	NotBegun int                   `json:"not_begun"` // that keep what they have until they do
	States   map[rollout.State]int `json:"states"`
	// Turns are those that have begun by the batch in which they have, and those that have not as batch 0.
	Turns []TurnCounts `json:"turns"`
	// Hidden: there are others that the caller may not read.
	Hidden bool `json:"hidden,omitempty"`
}

// TurnCounts says how many hosts of a batch stand how.
type TurnCounts struct {
	Turn   int                   `json:"turn"`
	States map[rollout.State]int `json:"states"`
}

// member is a host of a deployment as an index has it.
type member struct {
	place int64
	host  trust.ID
	turn  int64
	state rollout.State
}

// members calls a function for each host of a deployment after a place, in their order, until that gives false.
func members(r store.Reader, id, after int64, each func(*member) (bool, error)) error {
	const chunk = 2000
	for {
		n := 0
		var old []*member
		var list []*member
		err := r.Query(`SELECT place, host, turn, state FROM deploy_hosts WHERE deployment = $1 AND place > $2 ORDER BY place LIMIT $3`, []any{id, after, int64(chunk)}, func(row store.Row) error {
			m, err := scanMember(row)
			if err != nil {
				return err
			}
			if n++; m.state == "" {
				old = append(old, m)
			}
			list, after = append(list, m), m.place
			return nil
		})
		for _, m := range old {
			h, failed := readMember(r, id, m.host)
			if err = errors.Join(err, failed); err == nil {
				m.state = h.Summary()
			}
		}
		if err != nil {
			return err
		}
		for _, m := range list {
			if more, err := each(m); err != nil || !more {
				return err
			}
		}
		if n < chunk {
			return nil
		}
	}
}

// scanMember reads a row of the index. There may be many, so that they are taken as they are.
func scanMember(row store.Row) (*member, error) {
	place, isPlace := row[0].(int64)
	host, isHost := row[1].(string)
	turn, isTurn := row[2].(int64)
	state, isState := row[3].(string)
	if !isPlace || !isHost || !isTurn || !isState {
		return nil, fmt.Errorf("a row of hosts of a deployment is damaged: %v", row)
	}
	return &member{place, trust.ID(host), turn, rollout.State(state)}, nil
}

// tally is how many hosts stand how, by turn.
type tally map[int]map[rollout.State]int

func (t tally) add(turn int64, state rollout.State, n int) {
	of := t[int(turn)]
	if of == nil {
		of = map[rollout.State]int{}
		t[int(turn)] = of
	}
	of[state] += n
}

// counts adds it up.
func (t tally) counts() *MemberCounts {
	c := &MemberCounts{States: map[rollout.State]int{}, Turns: []TurnCounts{}}
	for _, turn := range slices.Sorted(maps.Keys(t)) {
		c.Turns = append(c.Turns, TurnCounts{turn, t[turn]})
		for state, n := range t[turn] {
			c.Hosts += n
			c.States[state] += n
			if turn > 0 {
				c.Begun += n
			} else {
				c.NotBegun += n
			}
		}
	}
	return c
}

// countAll counts the hosts of a deployment for who may read all of them; false: a state is to be read.
func countAll(r store.Reader, id int64, into tally) (bool, error) {
	isWhole := true
	err := r.Query(`SELECT turn, state, COUNT(*) FROM deploy_hosts WHERE deployment = $1 GROUP BY turn, state`, []any{id}, func(row store.Row) error {
		var turn int64
		var state string
		var n int
		err := row.Scan(&turn, &state, &n)
		isWhole = isWhole && state != ""
		into.add(turn, rollout.State(state), n)
		return err
	})
	return isWhole, err
}

// readMember reads a host of a deployment.
func readMember(r store.Reader, id int64, host trust.ID) (*Host, error) {
	var body []byte
	found, err := store.One(r, `SELECT body FROM deploy_hosts WHERE deployment = $1 AND host = $2`, []any{id, string(host)}, &body)
	if err == nil && !found {
		err = fmt.Errorf("the host %s of deployment %d is gone", host.Short(), id)
	}
	if err != nil {
		return nil, err
	}
	h := &Host{}
	return h, json.Unmarshal(body, h)
}

// readers gives which hosts a caller may read for a site.
func readers(by *access.Caller, enrolled []Enrolled, site string) func(trust.ID) bool {
	if by.MayEverywhere(access.Read) {
		return func(trust.ID) bool { return true }
	}
	may := make(map[trust.ID]bool, len(enrolled))
	for i := range enrolled {
		may[enrolled[i].ID] = by.May(access.Read, enrolled[i].target(), site)
	}
	return func(id trust.ID) bool { return may[id] }
}

// siteOf gives the site of a deployment that the caller may read.
func siteOf(r store.Reader, by *access.Caller, id int64) (site string, err error) {
	found, err := store.One(r, `SELECT site FROM deploy_deployments WHERE id = $1`, []any{id}, &site)
	if err == nil && (!found || !by.MaySite(access.Read, site)) {
		err = noDeployment(id)
	}
	return site, err
}

// CountMembers counts the hosts of a deployment by how they stand.
func (s *Service) CountMembers(ctx context.Context, by *access.Caller, id int64) (c *MemberCounts, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		site, err := siteOf(r, by, id)
		if err != nil {
			return err
		}
		counted := tally{}
		if by.MayEverywhere(access.Read) {
			isWhole, err := countAll(r, id, counted)
			if c = counted.counts(); err != nil || isWhole {
				return err
			}
			counted = tally{}
		}
		may, isHidden := readers(by, enrolled, site), false
		err = members(r, id, -1, func(m *member) (bool, error) {
			if may(m.host) {
				counted.add(m.turn, m.state, 1)
			} else {
				isHidden = true
			}
			return true, nil
		})
		c = counted.counts()
		c.Hidden = isHidden
		return err
	})
	return c, err
}

// PlacedHost is a host of a deployment with its place there.
type PlacedHost struct {
	Place int64
	*Host
}

// Members lists hosts of a deployment in their order, up to so many after a place: those that the caller may read and that stand as is said, by Host.Summary; no state: any.
func (s *Service) Members(ctx context.Context, by *access.Caller, id int64, states []rollout.State, after int64, limit int) (list []PlacedHost, err error) {
	enrolled, err := s.Options.Hosts.List(ctx)
	if err != nil {
		return nil, err
	}
	err = s.Store.Read(ctx, func(r store.Reader) error {
		list = nil
		site, err := siteOf(r, by, id)
		if err != nil {
			return err
		}
		may := readers(by, enrolled, site)
		var found []*member
		err = members(r, id, after, func(m *member) (bool, error) {
			if may(m.host) && (len(states) == 0 || slices.Contains(states, m.state)) {
				found = append(found, m)
			}
			return len(found) < limit, nil
		})
		for _, m := range found {
			h, failed := readMember(r, id, m.host)
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			list = append(list, PlacedHost{m.place, h})
		}
		return err
	})
	return list, err
}
