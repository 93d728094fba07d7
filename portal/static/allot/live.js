// Keeps a page true while it is open: hears what changed and lets the parts that show it ask again.
//
// A part says which topics it shows and how it asks:
//   <section data-live="move plan" hx-get="/reshuffle/" hx-trigger="live" hx-swap="outerHTML">
// Its "live" event fires when one of them changed. The body gets "live:move" and the like for everything else.
// Without streams the same happens by the clock. A hidden page asks nothing and catches up when it is shown.
(() => {
  "use strict";

  const GATHER_MS = 400; // several topics of one change make one refresh
  const POLL_MS = 15_000; // without a stream: as often as a survey brings something new
  const SAFETY_MS = 60_000; // with one: a hint that got lost costs a minute
  const SILENT_MS = 40_000; // two heartbeats and a half missed: the way there is cut
  const RETRY_MS = 30_000; // a refused stream is tried again
  const TYPED_INTO = "input:not([type=checkbox]):not([type=radio]):not([type=hidden]), textarea, select, [contenteditable]";
  const ALL = "*";

  const root = document.documentElement;
  const address = document.querySelector("meta[name=live]")?.content || "/live/";
  const waiting = new Set();
  let source = null;
  let gathering = 0;
  let asked = Date.now();
  let heard = 0;
  let opened = 0;

  const parts = () => [...document.querySelectorAll("[data-live]")];
  const topicsOf = (part) => part.dataset.live.split(/\s+/).filter(Boolean);
  const typedInto = (part) => part.contains(document.activeElement) && document.activeElement.matches(TYPED_INTO);

  function show(state) {
    if (root.dataset.liveState === state) return;
    root.dataset.liveState = state;
    for (const sign of document.querySelectorAll("[data-live-sign]")) {
      sign.textContent = sign.getAttribute(`data-${state}`) || "";
    }
  }

  function changed(topics) {
    topics.forEach((topic) => waiting.add(topic));
    if (!gathering && !document.hidden) gathering = setTimeout(refresh, GATHER_MS);
  }

  function refresh() {
    gathering = 0;
    if (!waiting.size || document.hidden) return;
    const all = waiting.has(ALL);
    const topics = new Set(waiting);
    waiting.clear();
    if (all) asked = Date.now();
    for (const part of parts()) {
      const touched = all ? topicsOf(part) : topicsOf(part).filter((topic) => topics.has(topic));
      if (!touched.length) continue;
      // What a person types into is not swapped from under the hand: it catches up when the field is left.
      if (typedInto(part)) {
        part.addEventListener("focusout", () => changed(touched), { once: true });
        continue;
      }
      part.dispatchEvent(new CustomEvent("live", { detail: { topics: touched } }));
    }
    for (const topic of topics) {
      document.body.dispatchEvent(new CustomEvent(topic === ALL ? "live:all" : `live:${topic}`));
    }
  }

  function connect() {
    if (source || document.hidden || !("EventSource" in window)) return;
    opened = heard = Date.now();
    source = new EventSource(address);
    let again = false;
    source.addEventListener("open", () => { heard = Date.now(); });
    source.addEventListener("ready", (message) => {
      heard = Date.now();
      show(message.data === "heard" ? "on" : "polling");
      if (again) changed([ALL]);
      again = true;
    });
    source.addEventListener("changed", (message) => {
      heard = Date.now();
      show("on");
      changed(message.data.split(" "));
    });
    source.addEventListener("here", () => { heard = Date.now(); });
    source.addEventListener("error", () => {
      show(navigator.onLine ? "polling" : "off");
      if (source?.readyState === EventSource.CLOSED) disconnect();
    });
  }

  function disconnect() {
    source?.close();
    source = null;
  }

  function tick() {
    if (document.hidden) return;
    const now = Date.now();
    if (source && now - heard > SILENT_MS) disconnect();
    if (!source && now - opened > RETRY_MS) connect();
    const live = root.dataset.liveState === "on" && source;
    if (!live) show(navigator.onLine ? "polling" : "off");
    if (now - asked >= (live ? SAFETY_MS : POLL_MS)) changed([ALL]);
  }

  function start() {
    if (!parts().length && !document.querySelector("[data-live-sign]")) return;
    connect();
    setInterval(tick, 1000);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return disconnect(); // a browser opens six connections to one host; hidden tabs leave them
      changed([ALL]);
      connect();
    });
    window.addEventListener("pagehide", disconnect);
    window.addEventListener("pageshow", (event) => { if (event.persisted) { changed([ALL]); connect(); } });
    window.addEventListener("offline", () => show("off"));
  }

  start();
})();
