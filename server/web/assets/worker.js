// One stream of events for all tabs of this server: browsers have six connections for HTTP/1.1.
import { openStream } from "./stream.js";

const tabs = new Set();
let state = "", stop; // state is what was told last of the stream itself

function tell(message) {
  if (message.type === "lost") state = "lost";
  if (message.type === "ready" || message.type === "reload") state = "ready";
  for (const tab of tabs) tab.postMessage(message);
}

addEventListener("connect", event => {
  const tab = event.ports[0];
  tabs.add(tab);
  tab.onmessage = message => { if (message.data === "close") tabs.delete(tab); };
  tab.start();
  if (!stop) stop = openStream(tell);
  else if (state) tab.postMessage({ type: state });
});
