package sessions_test

import (
	"fmt"
	"slices"

	"github.com/tenetcm/tenet/runtime/trust"
	"github.com/tenetcm/tenet/states"
)

// expectReports checks that the report of a host for the site shop, of so many parts, is found among any number of hosts and sites that have none.
func (f *fleet) expectReports(id trust.ID, parts int) {
	f.t.Helper()
	for _, others := range []int{0, 1, 3, 5, 1023, 1024, 2500} {
		of := map[string][]trust.ID{"shop": {id}, "another": {id}}
		for i := range others {
			of["shop"] = slices.Insert(of["shop"], i/2, trust.ID(fmt.Sprint("none", i)))
		}
		found := 0
		err := f.sessions.Reports(f.t.Context(), of, func(site string, host trust.ID, report *states.Report) {
			if found++; site != "shop" || host != id || len(report.Parts) != parts {
				f.t.Errorf("the report of %s for %s is %+v", host, site, report)
			}
		})
		if err != nil || found != 1 {
			f.t.Errorf("among %d others there are %d reports: %v", others, found, err)
		}
	}
	none := func(site string, host trust.ID, _ *states.Report) { f.t.Errorf("a report of %s for %s", host, site) }
	if err := f.sessions.Reports(f.t.Context(), nil, none); err != nil {
		f.t.Error(err)
	}
}
