// The command beside a form does what the form would do: it follows what is chosen there.
const special = /['\\!]/;

// quote makes one word for a shell, as the server does: what is special inside of quotes stands outside of them.
function quote(text) {
  if (/^[A-Za-z0-9_\/.,:@%+-]+$/.test(text)) return text;
  return text.replace(/[^'\\!]+|['\\!]/g, run => special.test(run) ? "\\" + run : `'${run}'`);
}

function wordsOf(field) {
  if (field.type === "checkbox") return field.checked ? [field.dataset.flag] : [];
  if (field.matches("option")) return field.selected ? [field.dataset.flag] : [];
  const value = field.value || field.dataset.sample;
  return value ? [field.dataset.flag, quote(value + (field.dataset.suffix ?? ""))] : [];
}

function renew(form) {
  const place = form.querySelector("[data-command]");
  if (!place) return;
  const line = [place.dataset.command, ...[...form.querySelectorAll("[data-flag]")].flatMap(wordsOf)].join(" ");
  place.querySelector("code").textContent = line;
  place.querySelector("[data-copy]").dataset.copy = line;
}

export function startCommands() {
  for (const kind of ["input", "change"]) document.addEventListener(kind, event => { if (event.target.form) renew(event.target.form); });
  // A browser that comes back to a page fills in what was chosen before.
  addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form:has([data-command])")) renew(form); });
}
