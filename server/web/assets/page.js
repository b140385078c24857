// What a script adds to pages that can be read without one.
import { startLive } from "./live.js";
import { startKeys } from "./keys.js";
import { startDialogs } from "./dialog.js";
import { startSelection } from "./select.js";
import { startTimes } from "./times.js";
import { startLog } from "./log.js";
import "./graph.js";

document.documentElement.classList.add("scripted");
startDialogs();
startKeys();
startSelection();
startTimes();
startLog();
startLive();

// A button that copies what it stands beside.
document.addEventListener("click", async event => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  event.preventDefault();
  const was = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch { // the browser does not allow it
    button.textContent = "Select it by hand";
  }
  setTimeout(() => { button.textContent = was; }, 1500);
});

document.querySelector("[data-menu]")?.addEventListener("click", event => {
  const isOpen = document.getElementById("side").classList.toggle("open");
  event.currentTarget.setAttribute("aria-expanded", String(isOpen));
});

// Fields that are empty are no filters: the address stays short.
document.addEventListener("htmx:configRequest", event => {
  const { formData, verb } = event.detail;
  if (verb !== "get") return;
  for (const [name, value] of [...formData.entries()]) if (value === "") formData.delete(name);
});
