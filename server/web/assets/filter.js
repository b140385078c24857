// Filters apply as one types. One that is refused says why in the place of what it would show, and one that is lost is sent again.
import { setLost } from "./live.js";

const again = 5000;
let waiting = 0;

// problemOf is what an answer says that is an error. Of what stands between here and the server, only the number counts.
function problemOf(xhr) {
  const said = new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector("#main .problem");
  const box = said ? document.importNode(said, true) : document.createElement("div");
  if (!said) {
    box.className = "problem";
    box.setAttribute("role", "alert");
    box.textContent = `The server answered ${xhr.status}, and nothing that can be shown. Try again.`;
  }
  box.dataset.refused = "";
  return box;
}

function refuse(event) {
  const { xhr, target } = event.detail;
  if (xhr.status === 401) return; // it leads to where one logs in
  if (target.id === "results") { target.replaceChildren(problemOf(xhr)); return; }
  target.querySelector(":scope > [data-refused]")?.remove();
  target.prepend(problemOf(xhr));
}

function lose(event) {
  const { elt } = event.detail, trigger = elt.matches("form") ? "submit" : "revealed";
  setLost(true);
  clearTimeout(waiting);
  waiting = setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, trigger); }, again);
}

export function startFilters() {
  // Fields that are empty are no filters: the address stays short.
  document.addEventListener("htmx:configRequest", event => {
    const { formData, verb } = event.detail;
    if (verb !== "get") return;
    for (const [name, value] of [...formData.entries()]) if (value === "") formData.delete(name);
  });
  document.addEventListener("htmx:beforeRequest", () => clearTimeout(waiting));
  document.addEventListener("htmx:responseError", refuse);
  document.addEventListener("htmx:sendError", lose);
  document.addEventListener("htmx:timeout", lose);
  document.addEventListener("htmx:afterRequest", event => { if (event.detail.successful) setLost(false); });
  // The way back leads over what was chosen, and not over each pause in a word.
  document.addEventListener("htmx:beforeHistoryUpdate", event => {
    const { history, requestConfig } = event.detail;
    if (requestConfig.triggeringEvent?.type === "input" || history.path === location.pathname + location.search) history.type = "replace";
  });
}
