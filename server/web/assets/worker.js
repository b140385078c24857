// One stream of events for all tabs of this server: browsers have six connections for HTTP/1.1.
// EventSource takes the stream up again after its last event, by Last-Event-ID.
"use strict";
const tabs = new Set();
let source, isOpen = false;

function tell(message) {
  for (const tab of tabs) tab.postMessage(message);
}

function open() {
  source = new EventSource("/v1/events");
  source.onerror = () => {
    isOpen = false;
    tell({ type: "lost" });
    if (source.readyState === EventSource.CLOSED) { // it was refused: the session has ended, or the server is busy
      source.close();
      setTimeout(open, 5000 + 5000 * Math.random());
    }
  };
  source.addEventListener("ready", () => { const wasLost = !isOpen; isOpen = true; if (wasLost) tell({ type: "ready" }); });
  source.addEventListener("reload", () => { isOpen = true; tell({ type: "reload" }); });
  for (const type of ["host.loop", "host.run", "host.events", "host.changed", "deployment.changed", "cluster.changed", "source.changed", "token.changed"]) {
    source.addEventListener(type, event => {
      let data;
      try { data = JSON.parse(event.data); } catch { return; } // of another version of the server
      tell({ type, id: data.data?.host, site: data.site });
    });
  }
}

addEventListener("connect", event => {
  const tab = event.ports[0];
  tabs.add(tab);
  tab.onmessage = message => { if (message.data === "close") tabs.delete(tab); };
  tab.start();
  if (!source) open();
  else tab.postMessage({ type: isOpen ? "ready" : "lost" });
});
