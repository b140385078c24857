// What belongs to the person who looks, and not to the server, stays as it is when a page is renewed: what is typed, chosen,
// ticked, unfolded, loaded by scrolling, or about to be sent.
const fields = "form :is(input:not([type=hidden]), select, textarea)";
const kept = `${fields}, [data-keep], [data-select], [data-select-all]`;
const own = ["data-sent", "data-hx-revealed", "aria-busy"]; // attributes that the script gives

const states = {
  beforeAttributeUpdated(name, node) { return !(own.includes(name) || name === "open" && node.matches("details, dialog")); },
  beforeNodeAdded(node) { return !isPassed(node); },
  beforeNodeRemoved(node) { return !(node.matches?.("[data-chunk], .earlier")); },
  beforeNodeMorphed(node, fresh) {
    if (!node.matches) return true;
    if (node.matches("form select")) renewOptions(node, fresh);
    return !(node.matches(kept) || node.matches(".chunk") && fresh.matches(".more"));
  },
};

// isPassed tells pieces of a log that were scrolled past, and taken away.
function isPassed(node) {
  const first = document.querySelector("main [data-chunk]");
  return Boolean(first && node.matches?.("[data-chunk]")) && Number(node.dataset.after) < Number(first.dataset.after);
}

// renewOptions offers what there is now, and leaves what is chosen.
function renewOptions(select, fresh) {
  const text = list => [...list.options].map(option => `${option.value}\n${option.text}`).join("\n");
  if (text(select) === text(fresh) || ![...fresh.options].some(option => option.value === select.value)) return;
  const { value } = select;
  select.replaceChildren(...[...fresh.options].map(option => document.importNode(option, true)));
  select.value = value;
}

// nameFields lets a field be found again by what it is for, however many come before it.
function nameFields(root) {
  const seen = new Map();
  for (const field of root.querySelectorAll(fields)) {
    const key = `${field.form?.getAttribute("action")}-${field.name}`, number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    field.id ||= `field-${number}-${encodeURIComponent(key)}`;
  }
}

// morph makes of an element what a fresh one is.
export function morph(element, fresh) {
  nameFields(element);
  nameFields(fresh);
  Idiomorph.morph(element, fresh, { morphStyle: "outerHTML", ignoreActiveValue: true, callbacks: states });
}
