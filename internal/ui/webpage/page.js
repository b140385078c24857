"use strict";
(function () {
  // Nothing of the page depends on this script but filtering, folding all at once, and one view
  // at a time. It holds no sign that XML would take for one of its own.
  function all(selector, below) { return Array.prototype.slice.call((below || document).querySelectorAll(selector)); }
  function by(id) { return document.getElementById(id); }
  var rows = all("#by-state .row"), groups = all("#by-state .group"), hosts = all(".host"), sets = {}, texts = [], links = [], shownView = "state";
  var find = by("find"), kind = by("kind"), on = by("on"), count = by("count");
  var groupOf = rows.map(function (r) { return groups.indexOf(r.closest(".group")); });
  var titles = groups.map(function (g) { return g.querySelector(".n"); });
  var names = hosts.map(function (h) { return h.getAttribute("data-n").toLowerCase(); });
  var ranges = rows.map(function (r) { return r.getAttribute("data-h") || ""; });
  var kinds = rows.map(function (r) { return r.getAttribute("data-k"); });

  // textOf is what a row says, in small letters.
  function textOf(i) {
    if (texts[i] === undefined) { texts[i] = rows[i].textContent.toLowerCase(); }
    return texts[i];
  }

  // isOn tells whether one of the wanted hosts is among those of a row, such as "0-3,7".
  function isOn(range, wanted) {
    if (range === "") { return true; }
    if (sets[range] === undefined) {
      sets[range] = range.split(",").some(function (part) {
        var ends = part.split("-"), last = Number(ends[ends.length - 1]);
        return wanted.some(function (n) { return Math.min(Math.max(n, Number(ends[0])), last) === n; });
      });
    }
    return sets[range];
  }

  function filter() {
    var words = find.value.trim().toLowerCase(), wanted = null, shown = 0;
    var left = groups.map(function () { return 0; });
    sets = {};
    if (on) {
      var name = on.value.trim().toLowerCase();
      if (name !== "") {
        var exact = names.indexOf(name);
        wanted = [];
        names.forEach(function (n, i) {
          if (exact === -1 ? n.indexOf(name) !== -1 : i === exact) { wanted.push(i); }
        });
      }
    }
    rows.forEach(function (r, i) {
      var is = kind.value === "" ? true : kinds[i].indexOf(" " + kind.value + " ") !== -1;
      if (is) { is = wanted === null ? true : isOn(ranges[i], wanted); }
      if (is) { is = words === "" ? true : textOf(i).indexOf(words) !== -1; }
      if (r.hidden === is) { r.hidden = !is; }
      if (is) { shown += 1; left[groupOf[i]] += 1; }
    });
    groups.forEach(function (g, i) {
      g.hidden = left[i] === 0;
      titles[i].textContent = left[i];
    });
    filterHosts(wanted, words + kind.value !== "");
    count.textContent = shown + " of " + rows.length;
  }

  // filterHosts shows the wanted hosts, and of their rows those that are shown by state; a host
  // none of whose rows is shown is hidden, too. One that has the rows of another host lists none,
  // and is shown for those of that host, be that one wanted or not.
  function filterHosts(wanted, some) {
    var left = hosts.map(function (h, i) {
      if (links[i] === undefined) { links[i] = all("li", h); }
      return links[i].filter(function (li) {
        var row = by(li.querySelector("a").getAttribute("href").slice(1));
        li.hidden = row ? row.hidden : false;
        return !li.hidden;
      }).length;
    });
    hosts.forEach(function (h, i) {
      var same = h.querySelector("p > a"), is = wanted === null ? true : wanted.indexOf(i) !== -1;
      if (is) { is = some ? left[same ? hosts.indexOf(by(same.getAttribute("href").slice(1))) : i] !== 0 : true; }
      h.hidden = !is;
    });
  }

  // step goes to the next row or host that is shown, or to the one before.
  function step(way) {
    var list = shownView === "host" ? hosts : rows;
    var at = list.indexOf(document.activeElement.closest("details.row, details.host, li.row"));
    for (var i = at === -1 ? (way === 1 ? 0 : list.length - 1) : at + way; list[i]; i += way) {
      var group = list[i].closest(".group");
      if (list[i].hidden === false) {
        if (group) { group.open = true; }
        var to = list[i].querySelector("summary");
        if (to) { to.focus(); return; }
      }
    }
  }

  var timer;
  function soon() { clearTimeout(timer); timer = setTimeout(filter, 60); }
  function fold(open) { all("#by-state details.row, .group, .host").forEach(function (d) { d.open = open; }); }
  function show(view) {
    shownView = view;
    ["state", "host"].forEach(function (v) {
      if (by("by-" + v)) {
        by("by-" + v).hidden = v !== view;
        by("show-" + v).setAttribute("aria-pressed", String(v === view));
      }
    });
  }

  // What a link leads to is shown, whatever is folded or filtered.
  function follow() {
    var to = location.hash.length === 0 ? null : by(decodeURIComponent(location.hash.slice(1)));
    if (!to) { return; }
    if (to.closest("#by-host")) { show("host"); }
    if (to.closest("#by-state")) { show("state"); }
    for (var e = to; e; e = e.parentElement) {
      if (e.hidden) { e.hidden = false; }
      if (e.tagName.toLowerCase() === "details") { e.open = true; }
    }
    to.scrollIntoView();
  }

  find.addEventListener("input", soon);
  kind.addEventListener("change", filter);
  if (on) {
    on.addEventListener("input", soon);
    by("show-state").addEventListener("click", function () { show("state"); });
    by("show-host").addEventListener("click", function () { show("host"); });
    show("state");
  }
  by("open").addEventListener("click", function () { fold(true); });
  by("close").addEventListener("click", function () { fold(false); });
  document.addEventListener("keydown", function (e) {
    var typing = ["input", "select"].indexOf(e.target.tagName.toLowerCase()) !== -1;
    if (e.key === "Escape") { if (typing) { find.value = ""; if (on) { on.value = ""; } filter(); e.target.blur(); } }
    if (e.key === "/") { if (!typing) { e.preventDefault(); find.focus(); } }
    if (e.ctrlKey || e.metaKey || e.altKey || typing) { return; }
    if (e.key === "j") { step(1); }
    if (e.key === "k") { step(-1); }
  });
  window.addEventListener("hashchange", follow);
  by("bar").hidden = false;
  count.textContent = rows.length + " of " + rows.length;
  follow();
})();
