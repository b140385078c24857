// Acts have pages of their own; here they open as a dialog above the page that they are about, and what comes of them is told there.
const dialog = () => document.getElementById("dialog");
const patience = 60000, again = 10000;
const parse = text => new DOMParser().parseFromString(text, "text/html").getElementById("main");

// leave goes to another page, also where that is the one that is shown.
function leave(target) {
  const to = new URL(target, location.origin);
  if (to.origin !== location.origin) return;
  if (to.pathname + to.search !== location.pathname + location.search) { location.assign(to); return; }
  history.replaceState(null, "", to);
  location.reload();
}

// show puts what the server has answered into the dialog.
function show(page, action) {
  const box = dialog();
  page.id = "dialog-main";
  page.querySelector("h1").id = "dialog-title";
  box.replaceChildren(page);
  for (const form of box.querySelectorAll("form[method=post]")) form.action = action;
  const once = Boolean(page.querySelector("[data-once]")); // nobody can see it again: it stays until it is said to be kept
  box.toggleAttribute("data-stays", once);
  box.setAttribute("closedby", once ? "none" : "closerequest");
  if (!page.querySelector("form, [data-once]")) page.append(closer());
  if (!box.open) box.showModal();
  (box.querySelector("input:not([type=hidden]), textarea, select") ?? box.querySelector("h1")).focus();
}

function closer() {
  const row = document.createElement("p"), button = document.createElement("button");
  button.type = "button";
  button.dataset.close = "";
  button.textContent = "Close";
  row.append(button);
  return row;
}

// open says on the link that it is being opened: a host may have to be asked first.
async function open(link) {
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  try {
    await load(link);
  } catch { // its page says what is wrong
    location.assign(link.href);
  }
  link.ariaBusy = null;
}

async function load(link) {
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" }, cache: "no-store", signal: AbortSignal.timeout(patience) });
  if (answer.headers.has("HX-Redirect")) { leave(answer.headers.get("HX-Redirect")); return; }
  const page = parse(await answer.text());
  if (!page) { location.assign(link.href); return; }
  show(page, link.href);
}

// complain says in the dialog why it was not done. What was typed stays.
function complain(problem) {
  const act = dialog().querySelector(".act");
  act.querySelector(".problem")?.remove();
  act.querySelector("h1").after(problem);
  problem.tabIndex = -1;
  problem.focus();
  problem.scrollIntoView({ block: "nearest" });
}

function problemOf(title, text) {
  const box = document.createElement("div"), head = document.createElement("p"), strong = document.createElement("strong"), more = document.createElement("p");
  box.className = "problem";
  box.setAttribute("role", "alert");
  strong.textContent = title;
  more.textContent = text;
  head.append(strong);
  box.append(head, more);
  return box;
}

async function send(form, submitter) {
  const answer = await fetch(form.action, { method: "POST", headers: { "HX-Request": "true" }, body: new URLSearchParams(new FormData(form, submitter)), cache: "no-store", signal: AbortSignal.timeout(patience) });
  if (answer.headers.has("HX-Redirect")) { leave(answer.headers.get("HX-Redirect")); return; }
  const page = parse(await answer.text());
  if (answer.ok && page) { show(page, form.action); return; }
  complain(page?.querySelector(".problem") ?? problemOf("It was not done.", "The server has said nothing that can be shown: its log says more."));
  delete form.dataset.sent;
}

// What is sent is sent once, however often its button is pressed. Who has stopped it can send it again after a while: a browser does not tell.
function sendOnce(event) {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "true";
  if (!form.closest("#dialog")) { setTimeout(() => { delete form.dataset.sent; }, again); return; }
  event.preventDefault();
  form.ariaBusy = "true";
  send(form, event.submitter).finally(() => { form.ariaBusy = null; }).catch(() => {
    complain(problemOf("The connection was lost.", "It is not known whether it was done: look at the page before you press the button again."));
    delete form.dataset.sent;
  });
}

export function startDialogs() {
  document.addEventListener("submit", sendOnce);
  addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });
  dialog()?.addEventListener("cancel", event => { if (dialog().hasAttribute("data-stays")) event.preventDefault(); });
  document.addEventListener("click", event => {
    const box = dialog();
    if (event.target.closest("#dialog [data-close]") || event.target === box && !box.hasAttribute("data-stays")) { event.preventDefault(); box.close(); return; }
    const link = event.target.closest("a[data-dialog]");
    if (!link || !box || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open(link);
  });
}
