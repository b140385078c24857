// The keyboard: / searches, j and k go through rows, x selects, ? helps.
const places = { o: "/", h: "/hosts", r: "/runs", d: "/deployments", s: "/sites" };
const off = "tenet-no-keys"; // who speaks to a browser may not want keys of one letter
let isGoing = false;

const rows = () => [...document.querySelectorAll("main [data-row]")].filter(row => row.offsetParent);

function move(by) {
  const list = rows();
  if (!list.length) return;
  const at = list.findIndex(row => row.classList.contains("current"));
  const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
  list[at]?.classList.remove("current");
  next.classList.add("current");
  const target = next.querySelector("a, summary") ?? next;
  target.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(event) {
  const inField = event.target.closest("input, select, textarea, dialog[open]");
  if (event.key === "Escape" && event.target.matches("input[type=search]")) { event.target.value = ""; event.target.dispatchEvent(new Event("input", { bubbles: true })); event.target.blur(); return; }
  if (localStorage.getItem(off) || inField || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isGoing) {
    isGoing = false;
    if (places[event.key]) { event.preventDefault(); location.assign(places[event.key]); return; }
  }
  switch (event.key) {
    case "/": { const find = document.querySelector("main input[type=search]"); if (find) { event.preventDefault(); find.focus(); find.select(); } break; }
    case "j": event.preventDefault(); move(1); break;
    case "k": event.preventDefault(); move(-1); break;
    case "x": document.querySelector("main .current [data-select]")?.click(); break;
    case "g": isGoing = true; setTimeout(() => { isGoing = false; }, 2000); break;
    case "?": event.preventDefault(); document.getElementById("help")?.showModal(); break;
  }
}

export function startKeys() {
  // What a renewed page knows nothing of: which row one is at.
  document.addEventListener("tenet:renewed", () => document.activeElement?.closest("main [data-row]")?.classList.add("current"));
  document.addEventListener("keydown", press);
  const box = document.querySelector("[data-no-keys]");
  if (box) {
    box.checked = Boolean(localStorage.getItem(off));
    box.addEventListener("change", () => { if (box.checked) localStorage.setItem(off, "1"); else localStorage.removeItem(off); });
  }
  document.querySelector("[data-help]")?.addEventListener("click", () => document.getElementById("help").showModal());
}
