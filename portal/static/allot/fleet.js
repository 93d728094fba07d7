// The fleet map: every GPU a tile, what it does or whose it is; the legend is the filter, a click opens the node beside.
// The same is on the page as a table, for those who read.

import { fillCard, spokenOf, wordsOf } from "./fleet-card.js";
import { blocksOf, cardAt, clampSize, fitting, layOut, neighbour } from "./fleet-layout.js";
import { entriesOf, fillLegend } from "./fleet-legend.js";
import { Painter, lookOf, paletteOf } from "./fleet-paint.js";

const ZOOM = 1.35; // a step of the buttons
const REFRESH_MS = 2000; // hints come in bursts; the eye needs no more
const SPEAK_MS = 250; // arrows held down say where they end, not every tile on the way
const LEAST_HEIGHT = 320;
const SHOWS_USE = new Set(["active", "low", "idle", "draining", "ghost", "hung"]); // the use of the others is nobody's or unknown
const BELOW_PX = 40; // of the page that stays in sight below the map

const view = document.querySelector("[data-fleet]");
const words = JSON.parse(view.dataset.words);
const canvas = view.querySelector("canvas");
const spacer = view.querySelector("[data-spacer]");
const card = document.querySelector("[data-hover-card]");
const legend = document.querySelector("[data-legend]");
const spoken = document.querySelector("[data-spoken]");
const beside = document.getElementById("beside");
const painter = new Painter(canvas);

const address = new URLSearchParams(location.search);
const state = {
  by: address.get("by") === "project" ? "project" : "state",
  only: new Set((address.get("only") || "").split(",").filter(Boolean)),
  size: 0, // 0: as large as fits
  card: -1,
  openNode: address.get("node") || "",
};
let fleet = null;
let blocks = [];
let plan = null;
let palette = paletteOf(view);
let scene = null;
let tag = "";
let skewMs = 0; // the portal's clock less ours
let frame = 0;
let speaking = 0;
let refreshing = 0;

// ---- data
async function load() {
  refreshing = 0;
  let answer;
  try {
    answer = await fetch(view.dataset.tiles, { headers: { Accept: "application/json" }, cache: "no-cache" });
  } catch {
    return; // no network: the page's sign says so, and what is shown stays with its age
  }
  if (!answer.ok) return;
  skewMs = Date.parse(answer.headers.get("Date")) - Date.now() || 0;
  const known = answer.headers.get("ETag");
  if (known && known === tag) return;
  tag = known;
  const shape = fleet && JSON.stringify(fleet.nodes);
  fleet = await answer.json();
  if (JSON.stringify(fleet.nodes) !== shape) {
    blocks = blocksOf(fleet.nodes);
    fleet.nodeOf = null;
  }
  fleet.nodeOf = new Int32Array(fleet.doing.length);
  let first = 0;
  fleet.nodes.forEach((node, index) => {
    fleet.nodeOf.fill(index, first, first + node[4]);
    first += node[4];
  });
  view.removeAttribute("aria-busy");
  arrange();
}
const refresh = () => { if (!refreshing) refreshing = setTimeout(load, REFRESH_MS); };

// ---- what a card is called, looks like, and whether the legend lets it through
const doingOf = (index) => fleet.kinds[fleet.doing[index]];
const whose = (index) => (fleet.holder[index] >= 0 ? fleet.holder[index] : fleet.assigned[index]);
const projectOf = (number) => (number >= 0 ? fleet.projects[number] : null);
const keyOf = (index) => (state.by === "state" ? doingOf(index) : projectOf(whose(index))?.[0] ?? "");
const passes = (index) => !state.only.size || state.only.has(keyOf(index) || "-");

function sceneOf() {
  const looks = new Array(fleet.doing.length);
  const dimmed = new Array(fleet.doing.length);
  const made = new Map();
  for (let index = 0; index < looks.length; index += 1) {
    const doing = doingOf(index);
    const project = projectOf(whose(index));
    const swatch = project ? project[3] : -1;
    const key = `${doing}|${state.by === "project" ? swatch : ""}`;
    if (!made.has(key)) made.set(key, lookOf(doing, state.by, swatch, palette));
    looks[index] = made.get(key);
    dimmed[index] = !passes(index);
  }
  return {
    looks,
    dimmed,
    card: state.card,
    openNode: fleet.nodes.findIndex((node) => node[0] === state.openNode),
    titlesOf: (block) => {
      const short = block.island || `${words.no_island} ${fleet.models[block.model]}`;
      return [block.site ? `${block.site} / ${short}` : short, short];
    },
    figureOf: (index) => (fleet.util[index] === null || !SHOWS_USE.has(doingOf(index)) ? "" : String(Math.round(fleet.util[index]))),
  };
}

// ---- size and paint
function arrange() {
  if (!fleet) return;
  if (painter.palette !== palette) painter.reset(palette);
  drawLegend();
  const width = Math.max(240, view.clientWidth);
  const height = Math.max(LEAST_HEIGHT, window.innerHeight - view.getBoundingClientRect().top - window.scrollY - BELOW_PX);
  const fit = fitting(blocks, fleet.doing.length, width, height);
  const size = state.size || fit;
  plan = layOut(blocks, fleet.doing.length, size, width);
  const shown = Math.min(height, Math.max(LEAST_HEIGHT, plan.height + 12));
  view.style.height = `${shown}px`;
  spacer.style.height = `${Math.max(0, plan.height + 12 - shown)}px`;
  if (painter.width !== width || painter.height !== shown || painter.ratio !== window.devicePixelRatio) painter.resize(width, shown);
  scene = sceneOf();
  draw();
}

function draw() {
  if (!frame) frame = requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  if (!plan) return;
  const began = performance.now();
  scene.card = state.card;
  painter.paint(plan, scene, { x: 0, y: view.scrollTop });
  performance.measure("fleet-paint", { start: began, end: performance.now() });
}

function zoom(factor) {
  const middle = (view.scrollTop + painter.height / 2) / Math.max(1, plan.height);
  state.size = factor ? clampSize(plan.size * factor) : 0;
  arrange();
  view.scrollTop = state.card >= 0 ? plan.y[state.card] - painter.height / 2 : middle * plan.height - painter.height / 2;
  draw();
}

// ---- the filter
const drawLegend = () => fillLegend(legend, entriesOf(fleet, state.by, keyOf, state.only, words, palette), state.only, painter);

function remember() {
  const query = new URLSearchParams(location.search);
  const set = (name, value) => (value ? query.set(name, value) : query.delete(name));
  set("by", state.by === "project" ? "project" : "");
  set("only", [...state.only].join(","));
  set("node", state.openNode);
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}

legend.addEventListener("click", (event) => {
  const key = event.target.closest("[data-entry]")?.dataset.entry;
  if (!key) return;
  if (!state.only.delete(key)) state.only.add(key);
  remember();
  scene = sceneOf();
  drawLegend();
  draw();
});

for (const choice of document.querySelectorAll("[data-colour-by]")) {
  choice.addEventListener("click", () => {
    state.by = choice.dataset.colourBy;
    state.only.clear();
    showChoice();
    remember();
    arrange();
  });
}
function showChoice() {
  for (const choice of document.querySelectorAll("[data-colour-by]")) {
    choice.setAttribute("aria-pressed", String(choice.dataset.colourBy === state.by));
  }
}
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => zoom({ in: ZOOM, out: 1 / ZOOM, fit: 0 }[button.dataset.zoom]));
}

// ---- one card in words
const inWords = (index) => wordsOf(fleet, index, words, (Date.now() + skewMs) / 1000);

function showCard(index) {
  if (index < 0) {
    card.hidden = true;
    return;
  }
  const box = { x: plan.x[index], y: plan.y[index] - view.scrollTop, size: plan.size };
  fillCard(card, inWords(index), box, { width: painter.width, height: painter.height, scrolled: view.scrollTop });
}

function speak(index) {
  clearTimeout(speaking);
  speaking = setTimeout(() => { spoken.textContent = spokenOf(inWords(index)); }, SPEAK_MS);
}

// ---- pointer and keys
const under = (event) => {
  const box = canvas.getBoundingClientRect();
  return plan ? cardAt(plan, event.clientX - box.left, event.clientY - box.top + view.scrollTop) : -1;
};
canvas.addEventListener("pointermove", (event) => {
  const index = under(event);
  canvas.classList.toggle("is-on-card", index >= 0);
  if (index === state.card) return;
  state.card = index;
  showCard(index);
  draw();
});
canvas.addEventListener("pointerleave", () => {
  if (document.activeElement === canvas) return;
  state.card = -1;
  showCard(-1);
  draw();
});
canvas.addEventListener("click", (event) => {
  const index = under(event);
  if (index >= 0) openNode(index);
});
view.addEventListener("scroll", () => { showCard(-1); draw(); }, { passive: true });
view.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
  event.preventDefault();
  zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM);
}, { passive: false });

canvas.addEventListener("keydown", (event) => {
  if (!plan || !plan.x.length) return;
  const moves = { Home: 0, End: plan.x.length - 1 };
  let next = state.card;
  if (event.key.startsWith("Arrow")) next = state.card < 0 ? 0 : neighbour(plan, state.card, event.key);
  else if (event.key in moves) next = moves[event.key];
  else if (event.key === "Enter" && state.card >= 0) openNode(state.card, true);
  else if (event.key === "+" || event.key === "=") zoom(ZOOM);
  else if (event.key === "-") zoom(1 / ZOOM);
  else if (event.key === "0") zoom(0);
  else if (event.key === "Escape") next = -1;
  else return;
  event.preventDefault();
  if (next === state.card) return;
  state.card = next;
  if (next >= 0) {
    const y = plan.y[next];
    if (y < view.scrollTop + 20) view.scrollTop = y - 40;
    else if (y + plan.size > view.scrollTop + painter.height - 8) view.scrollTop = y + plan.size - painter.height + 40;
    speak(next);
  }
  showCard(next);
  draw();
});
canvas.addEventListener("blur", () => { state.card = -1; showCard(-1); draw(); });

// ---- the node beside
function openNode(index, focus = false) {
  const name = fleet.nodes[fleet.nodeOf[index]][0];
  state.openNode = name;
  remember();
  beside.hidden = false;
  document.body.classList.add("has-beside");
  window.htmx.ajax("GET", view.dataset.node.replace("NAME", encodeURIComponent(name)), { target: beside, swap: "innerHTML", headers: { "Allot-Part": "panel" } })
    .then(() => { if (focus) beside.querySelector("h2")?.focus(); });
  arrange();
}
beside.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-beside]")) closeNode();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && beside.contains(document.activeElement)) closeNode();
});
function closeNode() {
  state.openNode = "";
  remember();
  beside.hidden = true;
  beside.replaceChildren();
  document.body.classList.remove("has-beside");
  arrange();
  canvas.focus();
}

// ---- what changes by itself
const again = () => { palette = paletteOf(view); arrange(); };
new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
new ResizeObserver(() => { if (plan && painter.width !== view.clientWidth) arrange(); }).observe(view);
window.addEventListener("resize", arrange);
for (const topic of ["survey", "move", "cordon", "plan", "gpu", "node", "all"]) document.body.addEventListener(`live:${topic}`, refresh);

showChoice();
load().then(() => {
  const named = fleet?.nodes.findIndex((node) => node[0] === state.openNode) ?? -1;
  if (named >= 0) openNode(fleet.nodeOf.indexOf(named));
});
