// What a script adds to pages that can be read without one.
import { startLive } from "./live.js";
import { startKeys } from "./keys.js";
import { startDialogs } from "./dialog.js";
import { startSelection } from "./select.js";
import { startTimes } from "./times.js";
import { startLog } from "./log.js";
import { startFilters } from "./filter.js";
import { startCopying } from "./copy.js";
import { startCommands } from "./command.js";
import "./graph.js";

document.documentElement.classList.add("scripted");
startDialogs();
startKeys();
startSelection();
startTimes();
startLog();
startFilters();
startCopying();
startCommands();
startLive();

document.querySelector("[data-menu]")?.addEventListener("click", event => {
  const isOpen = document.getElementById("side").classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
});
