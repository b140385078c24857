// Who consents to a plan consents to the one that they have read: another one does not take its place under their eyes.
export function isOtherPlan(main, fresh) {
  const was = main.dataset.plan, now = fresh.dataset.plan;
  if (!was || !now || was === now) return false;
  if (document.getElementById("plan-changed")) return true;
  const note = document.createElement("p");
  note.id = "plan-changed";
  note.className = "warning";
  note.setAttribute("role", "alert");
  const link = document.createElement("a");
  link.href = location.pathname + location.search;
  link.textContent = "Look again";
  note.append("The plan has changed since this page was loaded. ", link);
  main.prepend(note);
  return true;
}
