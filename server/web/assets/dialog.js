// Acts have pages of their own; here they open as a dialog above the page that they are about.
async function open(link) {
  const dialog = document.getElementById("dialog");
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" }, cache: "no-store" });
  if (!answer.ok) { location.assign(link.href); return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  page.id = "dialog-main";
  dialog.replaceChildren(page);
  for (const form of dialog.querySelectorAll("form[method=post]")) form.action = link.href;
  dialog.showModal();
  dialog.querySelector("input:not([type=hidden]), textarea, select")?.focus();
}

// What is sent is sent once, however often its button is pressed.
function sendOnce(event) {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "true";
}

export function startDialogs() {
  document.addEventListener("submit", sendOnce);
  addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });
  document.addEventListener("click", event => {
    const dialog = document.getElementById("dialog");
    if (event.target.closest("#dialog [data-close]") || event.target === dialog) { event.preventDefault(); dialog.close(); return; }
    const link = event.target.closest("a[data-dialog]");
    if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open(link).catch(() => location.assign(link.href)); // the page of the act says what is wrong
  });
}
