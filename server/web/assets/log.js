// A log is scrolled through without ever being there as a whole: what was passed long ago goes, and a link leads back to it.
const most = 10; // pieces

function trim() {
  const log = document.querySelector("[data-log]");
  if (!log) return;
  const pieces = [...log.querySelectorAll("[data-chunk]:not(.more)")];
  if (pieces.length <= most) return;
  const kept = pieces[pieces.length - most], before = kept.getBoundingClientRect().top;
  for (const piece of pieces.slice(0, -most)) piece.remove();
  scrollBy(0, kept.getBoundingClientRect().top - before); // what is looked at stays where it is
  let way = document.querySelector(".earlier a");
  if (!way) {
    const line = document.createElement("p");
    line.className = "earlier";
    way = line.appendChild(document.createElement("a"));
    way.className = "button";
    way.textContent = "Earlier";
    log.before(line);
  }
  const to = new URL(location.href);
  to.searchParams.set("after", Math.max(0, Number(kept.dataset.after) - 300));
  to.hash = "";
  way.href = to.pathname + to.search;
}

export function startLog() {
  document.addEventListener("htmx:afterSettle", trim);
  document.addEventListener("tenet:renewed", trim);
}
