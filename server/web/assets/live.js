// A page is renewed when something happens that it shows: it is loaded again as it is, and only what
// differs changes, so that focus, scrolling and what is unfolded stay.
import { morph } from "./morph.js";
import { openStream } from "./stream.js";
import { isOtherPlan } from "./plan.js";
import { lastPiece, addressOf, putPiece } from "./log.js";

const patience = 60000, again = 5000;
let main, waiting = 0, earliest = 0, isBusy = false, isDue = false, isLost = false;

// load asks for a page as it is now; null: the server has nothing else to say, or is away.
async function load(address, tag) {
  const answer = await fetch(address, { headers: { "HX-Request": "true", "If-None-Match": tag ?? "" }, cache: "no-store", signal: AbortSignal.timeout(patience) });
  earliest = Math.max(earliest, Date.now()) + Math.min(patience, Math.max(2000, Number(answer.headers.get("Refresh-Wait")) || 0));
  if ([401, 403, 404].includes(answer.status)) { location.reload(); return null; } // the session, the right or the thing is gone
  if (answer.status === 304) return null;
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
  if (!fresh) throw new Error("this is no page of the server");
  return fresh;
}

async function renew() {
  waiting = 0;
  if (document.hidden) return; // it is renewed when somebody looks
  isBusy = true;
  isDue = false;
  try {
    await renewPage(location.href);
    setLost(false);
  } catch (error) {
    console.warn(error);
    setLost(true);
    isDue = true;
    earliest = Date.now() + again + again * Math.random();
  }
  isBusy = false;
  if (isDue) schedule();
}

// renewPage renews what the page has been loaded with, and the piece of a list that grows below it. What was filtered meanwhile
// has what it shows from there.
async function renewPage(at) {
  const fresh = await load(at, main.dataset.tag);
  if (fresh && at === location.href) show(fresh);
  const piece = lastPiece();
  if (!piece || at !== location.href) return;
  const grown = await load(addressOf(piece), piece.dataset.tag);
  if (!grown || at !== location.href || !piece.isConnected) return;
  putPiece(piece, grown);
  isShown();
}

function show(fresh) {
  if (("standby" in main.dataset) !== ("standby" in fresh.dataset)) { location.reload(); return; } // another server has become the active one
  if (isOtherPlan(main, fresh) || document.querySelector("#results > [data-refused]")) return;
  morph(main, fresh);
  main = document.getElementById("main");
  isShown();
}

function isShown() {
  htmx.process(main);
  document.dispatchEvent(new CustomEvent("tenet:renewed"));
}

function schedule() {
  if (isBusy) { isDue = true; return; }
  if (waiting || document.hidden) return;
  waiting = setTimeout(renew, Math.max(200, earliest - Date.now()));
}

export function setLost(lost) {
  isLost = lost;
  const note = document.getElementById("lost");
  if (note) note.hidden = !lost;
}

// isMeant tells whether an event is about what is shown: by the filter, where that says so.
function isMeant(message) {
  const { live = "", liveHost, liveSite } = (document.querySelector("#results[data-live]") ?? main).dataset;
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

// listen hears what happens by the stream that all tabs share, or else by one of its own while somebody looks.
function listen() {
  if (!window.SharedWorker) { listenAlone(); return; }
  const worker = new SharedWorker(document.querySelector("script[data-worker]").dataset.worker, { name: "tenet-events", type: "module" });
  worker.onerror = listenAlone;
  worker.port.onmessage = event => hear(event.data);
  addEventListener("pagehide", () => worker.port.postMessage("close"));
}

function listenAlone() {
  let stop = openStream(hear);
  document.addEventListener("visibilitychange", () => {
    stop();
    stop = document.hidden ? () => {} : openStream(hear);
  });
}

export function startLive() {
  main = document.getElementById("main");
  if (!main || main.dataset.live === undefined) return;
  addEventListener("pageshow", event => { if (event.persisted) location.reload(); });
  document.addEventListener("visibilitychange", schedule);
  document.addEventListener("htmx:afterSwap", event => { if (event.detail.target?.id === "results") delete main.dataset.tag; }); // it names what was shown before
  setInterval(schedule, 30000); // hosts that fall silent tell nothing
  if (!("standby" in main.dataset)) listen(); // the active server alone has the stream
}
