package runtime_test

import "testing"

// What exists once on a machine is shown with the name that it had.
func TestPlanNamesTheFormer(t *testing.T) {
	m := machine()
	mkdir(t, m, "/etc")
	write(t, m, "/etc/hostname", "old\n")
	ev := plan(t, m, "hostname \"new\" {}\n").parts["hostname.new"]
	if len(ev.Changes) != 1 || ev.Changes[0].From != "old" || ev.Changes[0].To != "new" {
		t.Errorf("the plan shows %+v", ev.Changes)
	}
}

// Who lacks the right is told so, whatever the program said that was run.
func TestApplyWithoutRights(t *testing.T) {
	m := machine()
	mkdir(t, m, "/etc")
	m.ActAs(1000, 1000)
	write(t, m, "/etc/group", "ann:x:1000:\n")
	ev := apply(t, m, "group \"staff\" {}\n").parts["group.staff"]
	if ev.Error == nil || ev.Error.Code != "permission" || ev.Error.Hint != "only root may do it: run tenet as root" {
		t.Errorf("the failure is %+v", ev.Error)
	}
}

// Where a part could become root, that is said too, unless it becomes somebody already.
func TestRightsByBecome(t *testing.T) {
	w := newTown(t)
	write(t, w.Memory, "/etc/group", "ann:x:1000:\n")
	parts := w.apply(t, "group \"staff\" {}\ngroup \"others\" {\n become = \"deploy\"\n}\n").parts
	for address, want := range map[string]string{
		"group.staff":  "only root may do it: run tenet as root, or add become = true to the part",
		"group.others": "only root may do it: run tenet as root",
	} {
		if ev := parts[address]; ev.Error == nil || ev.Error.Hint != want {
			t.Errorf("%s: %+v", address, ev.Error)
		}
	}
}
