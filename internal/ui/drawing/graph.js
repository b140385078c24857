// What a script adds to the drawing of a graph: it is made larger and smaller, moved by dragging and searched, and shows what
// a node hangs on. It holds no sign that XML would take for one of its own.
(() => {
  const all = (selector, below) => Array.from((below || document).querySelectorAll(selector));
  const tools = () => document.querySelector("[data-graph-tools]");
  const graph = () => document.querySelector("[data-graph]");
  let scale = 1, selected = "", drag = null, match = -1;

  function setScale(to) {
    const box = graph(), svg = box ? box.querySelector("svg") : null;
    if (!svg) return;
    const old = scale, x = box.scrollLeft + box.clientWidth / 2, y = box.scrollTop + box.clientHeight / 2;
    scale = Math.min(4, Math.max(0.05, to));
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    svg.setAttribute("width", width * scale);
    svg.setAttribute("height", height * scale);
    box.scrollLeft = x * scale / old - box.clientWidth / 2;
    box.scrollTop = y * scale / old - box.clientHeight / 2;
  }

  function fit() {
    const box = graph(), view = box.querySelector("svg").getAttribute("viewBox").split(" ").map(Number);
    setScale(Math.min(1, (box.clientWidth - 2) / view[2], Math.max(240, innerHeight * 0.7) / view[3]));
  }

  // wayOf gives what is reached from a node by arrows, in one direction.
  function wayOf(node, from, to) {
    const seen = new Set([node]), queue = [node], links = all("path[data-from]", graph());
    while (queue.length) {
      const at = queue.pop();
      for (const link of links) {
        if (link.dataset[from] !== at || seen.has(link.dataset[to])) continue;
        seen.add(link.dataset[to]);
        queue.push(link.dataset[to]);
      }
    }
    return seen;
  }

  function select(node) {
    const box = graph();
    selected = node;
    const way = node === "" ? new Set() : new Set([...wayOf(node, "from", "to"), ...wayOf(node, "to", "from")]);
    box.classList.toggle("chosen", node !== "");
    for (const g of all("[data-node]", box)) {
      g.classList.toggle("way", way.has(g.dataset.node));
      g.classList.toggle("at", g.dataset.node === node);
    }
    for (const link of all("path[data-from]", box)) link.classList.toggle("way", way.has(link.dataset.from) ? way.has(link.dataset.to) : false);
    why(node);
  }

  // why says beside the drawing what the list says of a node.
  function why(node) {
    const place = document.querySelector("[data-why]"), entry = node === "" ? null : document.getElementById(node);
    if (!place) return;
    place.hidden = !entry;
    place.replaceChildren();
    if (!entry) return;
    for (const part of [entry.querySelector("summary"), entry.querySelector(".body")]) {
      const copy = document.createElement("div");
      copy.append(...Array.from(part.cloneNode(true).childNodes));
      place.append(copy);
    }
  }

  function show(node) {
    const g = graph() ? graph().querySelector(`[data-node="${CSS.escape(node)}"]`) : null;
    if (g) g.scrollIntoView({ block: "nearest", inline: "center" });
  }

  function find(words, next) {
    const found = [];
    for (const g of all("[data-node]", graph())) {
      const title = g.querySelector("title"), is = words === "" ? false : title.textContent.toLowerCase().includes(words);
      g.classList.toggle("found", is);
      if (is) found.push(g);
    }
    for (const entry of all("details.node")) entry.hidden = words === "" ? false : !entry.querySelector("summary").textContent.toLowerCase().includes(words);
    const number = tools().querySelector("output");
    number.textContent = words === "" ? "" : `${found.length} found`;
    if (!found.length) { match = -1; return; }
    match = next ? (match + 1) % found.length : 0;
    found[match].scrollIntoView({ block: "nearest", inline: "center" });
  }

  document.addEventListener("click", event => {
    const button = event.target.closest("[data-zoom]");
    if (button) {
      if (button.dataset.zoom === "fit") fit();
      else setScale(scale * Number(button.dataset.zoom));
      return;
    }
    const link = event.target.closest("[data-graph] [data-node] a, [data-why] a");
    const node = link ? link.getAttribute("href").slice(1) : "";
    if (!/^node[0-9]+$/.test(node)) return;
    event.preventDefault();
    history.replaceState(history.state, "", "#" + node);
    select(node === selected ? "" : node);
    if (link.closest("[data-why]")) show(node);
  });
  document.addEventListener("input", event => {
    if (event.target.matches("[data-graph-find]")) find(event.target.value.trim().toLowerCase(), false);
  });
  document.addEventListener("keydown", event => {
    if (event.target.matches("[data-graph-find]") ? event.key === "Enter" : false) { event.preventDefault(); find(event.target.value.trim().toLowerCase(), true); }
    if (event.target.matches("[data-graph]")) {
      if (event.key === "+") setScale(scale * 1.25);
      if (event.key === "-") setScale(scale / 1.25);
      if (event.key === "0") fit();
    }
  });
  document.addEventListener("wheel", event => {
    if (!event.ctrlKey || !event.target.closest("[data-graph]")) return;
    event.preventDefault();
    setScale(scale * (event.deltaY > 0 ? 0.9 : 1.1));
  }, { passive: false });
  document.addEventListener("pointerdown", event => {
    const box = event.target.closest("[data-graph]");
    if (!box || event.button || event.pointerType === "touch" || event.target.closest("a")) return;
    drag = { box, x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
    box.classList.add("dragged");
  });
  document.addEventListener("pointermove", event => {
    if (!drag) return;
    drag.box.scrollLeft = drag.x - event.clientX;
    drag.box.scrollTop = drag.y - event.clientY;
  });
  document.addEventListener("pointerup", () => {
    if (drag) drag.box.classList.remove("dragged");
    drag = null;
  });

  function start() {
    if (!graph() || !tools()) return;
    tools().hidden = false;
    if (scale === 1) return;
    const was = scale;
    scale = 1;
    setScale(was);
  }
  document.addEventListener("tenet:renewed", () => { start(); if (graph()) select(selected); });
  start();
  const begin = location.hash.slice(1);
  if (graph() ? /^node[0-9]+$/.test(begin) : false) { select(begin); show(begin); }
})();
