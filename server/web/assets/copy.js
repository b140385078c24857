// A button that copies what it stands beside, and says so to who looks and to who listens.
const texts = new WeakMap(); // what buttons say otherwise, while they say what came of it

// say tells it where it is heard: what is outside of an open dialog is not.
function say(text, button) {
  const home = button.closest("dialog") ?? document.body;
  let place = home.querySelector(":scope > [data-said]");
  if (!place) {
    place = home.appendChild(document.createElement("div"));
    place.className = "visually-hidden";
    place.dataset.said = "";
    place.setAttribute("role", "status");
  }
  setTimeout(() => { place.textContent = text; }, 100); // a region is listened to once it is there
}

async function copy(button) {
  let text = "Copied";
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch { // the browser does not allow it
    text = "Select it by hand";
  }
  const former = texts.get(button);
  clearTimeout(former?.timer);
  const was = former?.was ?? button.textContent;
  button.textContent = text;
  say(text, button);
  texts.set(button, { was, timer: setTimeout(() => { button.textContent = was; texts.delete(button); say("", button); }, 1500) });
}

export function startCopying() {
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    event.preventDefault();
    copy(button);
  });
}
