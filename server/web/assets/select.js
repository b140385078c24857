// Rows that are selected: their names become part of the links of what can be done with them.
const boxes = () => [...document.querySelectorAll("main [data-select]")];

// renewAll has the box above all others say how these stand.
function renewAll() {
  const all = document.querySelector("main [data-select-all]"), list = boxes(), number = list.filter(box => box.checked).length;
  if (!all) return;
  all.checked = number > 0 && number === list.length;
  all.indeterminate = number > 0 && number < list.length;
}

function renew() {
  renewAll();
  const bar = document.getElementById("selected");
  if (!bar) return;
  const names = boxes().filter(box => box.checked).map(box => box.value);
  bar.hidden = names.length === 0;
  bar.querySelector("[data-number]").textContent = `${names.length} selected`;
  // Pages of acts are loaded by their links: without a selection these lead nowhere.
  for (const link of bar.querySelectorAll("a[data-act]")) {
    const target = new URL(link.dataset.act, location.origin);
    target.searchParams.set("select", names.join(","));
    link.href = target.pathname + target.search;
  }
}

export function startSelection() {
  document.addEventListener("change", event => {
    if (event.target.matches("[data-select-all]")) for (const box of boxes()) box.checked = event.target.checked;
    if (event.target.matches("[data-select], [data-select-all]")) renew();
  });
  document.addEventListener("tenet:renewed", renew);
  document.addEventListener("htmx:afterSwap", renew);
}
