// A page is renewed when something happens that it shows: it is loaded again as it is, and only what
// differs changes, so that focus, scrolling and what is unfolded stay.
let main, waiting = 0, earliest = 0, isBusy = false, isLost = false;

const states = { // what belongs to the person who looks, and not to the server
  beforeAttributeUpdated(name, node) { return !(name === "open" && node.matches("details, dialog")); },
  beforeNodeRemoved(node) { return !(node.matches?.("[data-chunk]")); }, // what was loaded while somebody scrolled
  beforeNodeMorphed(node) { return !(node.matches?.("[data-keep], [data-select]")); },
};

async function renew() {
  waiting = 0;
  if (document.hidden || isBusy) { schedule(); return; }
  isBusy = true;
  try {
    const at = location.href, answer = await fetch(at, { headers: { "HX-Request": "true", "If-None-Match": main.dataset.tag }, cache: "no-store" });
    earliest = Date.now() + Math.min(60000, Math.max(2000, Number(answer.headers.get("Refresh-Wait")) || 0));
    if ([401, 403, 404].includes(answer.status)) { location.reload(); return; } // the session, the right or the thing is gone
    if (answer.ok) {
      const text = await answer.text();
      if (at === location.href) show(text); // else it was filtered meanwhile, and has what it shows from there
    }
    setLost(false);
  } catch { // the server is away: the stream of events tells when it is back
    setLost(true);
  } finally {
    isBusy = false;
  }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("main");
  if (!fresh) return;
  Idiomorph.morph(main, fresh, { morphStyle: "outerHTML", ignoreActiveValue: true, callbacks: states });
  main = document.getElementById("main");
  htmx.process(main);
  document.dispatchEvent(new CustomEvent("tenet:renewed"));
}

function schedule() {
  if (waiting || !main) return;
  waiting = setTimeout(renew, document.hidden ? 5000 : Math.max(200, earliest - Date.now()));
}

function setLost(lost) {
  isLost = lost;
  const note = document.getElementById("lost");
  if (note) note.hidden = !lost;
}

function isMeant(message) {
  const { live = "", liveHost, liveSite } = main.dataset;
  return live.split(" ").includes(message.type) && (!liveHost || liveHost === message.id) && (!liveSite || !message.site || liveSite === message.site);
}

function hear(message) {
  if (message.type === "lost") { setLost(true); return; }
  if (message.type === "ready" || message.type === "reload") {
    if (isLost || message.type === "reload") schedule();
    setLost(false);
    return;
  }
  if (isMeant(message)) schedule();
}

export function startLive() {
  main = document.getElementById("main");
  if (!main || main.dataset.live === undefined || !window.SharedWorker) return;
  const name = document.querySelector("script[data-worker]").dataset.worker;
  const { port } = new SharedWorker(name, { name: "tenet-events" });
  port.onmessage = event => hear(event.data);
  addEventListener("pagehide", () => port.postMessage("close"));
  addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) schedule(); });
  setInterval(() => { if (!document.hidden) schedule(); }, 30000); // hosts that fall silent tell nothing
}
