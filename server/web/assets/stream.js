// The stream of what happens, as messages: "lost", "ready" (it is there again), "reload" (something was missed), or the type of an event.
// EventSource takes the stream up again after its last event, by Last-Event-ID.
const types = ["host.loop", "host.run", "host.events", "host.changed", "deployment.changed", "cluster.changed", "source.changed", "token.changed"];

export function openStream(tell) {
  let source, again = 0, isOpen = false;
  function open() {
    source = new EventSource("/v1/events");
    source.onerror = () => {
      isOpen = false;
      tell({ type: "lost" });
      if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 5000 + 5000 * Math.random()); // it was refused: the session has ended, or the server is busy
    };
    source.addEventListener("ready", () => { const wasLost = !isOpen; isOpen = true; if (wasLost) tell({ type: "ready" }); });
    source.addEventListener("reload", () => { isOpen = true; tell({ type: "reload" }); });
    for (const type of types) {
      source.addEventListener(type, event => {
        let data;
        try { data = JSON.parse(event.data); } catch { return; } // of another version of the server
        tell({ type, id: data.data?.host, site: data.site });
      });
    }
  }
  open();
  return () => { clearTimeout(again); source.close(); };
}
