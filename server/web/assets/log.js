// A log is scrolled through without ever being there as a whole: what was passed long ago goes, and a link leads back to it.
import { morph } from "./morph.js";

const most = 10; // pieces
const pieces = () => [...document.querySelectorAll("main .chunk[data-chunk]")];

// addressOf is where a piece of a list is loaded from.
export function addressOf(piece, after = piece.dataset.after) {
  const to = new URL(location.href);
  to.searchParams.set("after", after);
  to.hash = "";
  return to.pathname + to.search;
}

// lastPiece is the one that grows while a run goes on, where it is not of the page's own address.
export function lastPiece() {
  const last = pieces().at(-1);
  if (!last || last.matches("[data-keep]")) return null;
  return Number(last.dataset.after) > Number(new URL(location.href).searchParams.get("after")) ? last : null;
}

// putPiece renews a piece by the page of its own address.
export function putPiece(piece, page) {
  const fresh = page.querySelector(".chunk[data-chunk]"), more = page.querySelector(".more[data-chunk]");
  if (fresh?.id !== piece.id) return;
  fresh.dataset.tag = page.dataset.tag;
  morph(piece, fresh);
  if (more && !document.querySelector("main .more[data-chunk]")) document.getElementById(fresh.id).after(document.importNode(more, true));
}

function trim() {
  const log = document.querySelector("[data-log]");
  if (!log) return;
  const list = pieces(), kept = list[Math.max(0, list.length - most)];
  if (!kept) return;
  const before = kept.getBoundingClientRect().top;
  for (const piece of list.slice(0, -most)) piece.remove();
  scrollBy(0, kept.getBoundingClientRect().top - before); // what is looked at stays where it is
  if (Number(kept.dataset.after) > 0) leadBack(log, kept);
}

// leadBack has a link to what comes before the first piece.
function leadBack(log, first) {
  let way = document.querySelector(".earlier a");
  if (!way) {
    const line = document.createElement("p");
    line.className = "earlier";
    way = line.appendChild(document.createElement("a"));
    way.className = "button";
    way.textContent = "Earlier";
    log.before(line);
  }
  way.href = addressOf(first, Math.max(0, Number(first.dataset.after) - 300));
}

export function startLog() {
  document.addEventListener("htmx:afterSettle", trim);
  document.addEventListener("tenet:renewed", trim);
}
