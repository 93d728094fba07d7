// The fleet map: every GPU a tile, from all sites down to a card; the legend is the filter, what is opened stands beside.
// The same is on the page as a table, for those who read.

import { Camera } from "./fleet-camera.js";
import { counted, fillCard, kindsOf, spokenOf, wordsOf } from "./fleet-card.js";
import { Fleet } from "./fleet-facts.js";
import { Filter } from "./fleet-filter.js";
import { listen } from "./fleet-hands.js";
import { fitted, sitesOf, under } from "./fleet-layout.js";
import { entriesOf, fillLegend } from "./fleet-legend.js";
import { BY, FILTER_OF, looksOf, paletteOf } from "./fleet-looks.js";
import { Painter } from "./fleet-paint.js";
import { boxOf, edgeOf, inwards, neighbour, outwards, topOf } from "./fleet-walk.js";

const ZOOM = 1.5; // a step of the buttons and keys
const REFRESH_MS = 2000; // hints come in bursts; the eye needs no more
const SPEAK_MS = 250; // arrows held down say where they end, not every tile on the way
const TYPING_MS = 200;
const LEAST_HEIGHT = 320;
const BELOW_PX = 56; // of the page that stays in sight below the map
const POINT_CARD_PX = 5; // a smaller card is not pointed at, but its node; and so on
const POINT_NODE_PX = 12;
const SHOWS_USE = new Set(["active", "low", "idle", "draining", "ghost", "hung"]); // the use of the others is nobody's or unknown

const view = document.querySelector("[data-fleet]");
const words = JSON.parse(view.dataset.words);
const inUse = new Set(view.dataset.inUse.split(" "));
const canvas = view.querySelector("canvas");
const card = document.querySelector("[data-hover-card]");
const legend = document.querySelector("[data-legend]");
const spoken = document.querySelector("[data-spoken]");
const summary = document.getElementById("fleet-summary");
const form = document.querySelector("[data-fleet-filter]");
const beside = document.getElementById("beside");

const address = new URLSearchParams(location.search);
const fleet = new Fleet(view.dataset.tiles);
const filter = new Filter(address);
const painter = new Painter(canvas);
const camera = new Camera();
const state = { by: BY.includes(address.get("by")) ? address.get("by") : "state", place: null, open: address.get("open") || "" };
let sites = [];
let plan = null;
let palette = paletteOf(view);
let scene = null;
const timers = { frame: 0, speak: 0, refresh: 0, typing: 0 };

// ---- facts
async function load() {
  timers.refresh = 0;
  const came = await fleet.load();
  if (!came) return;
  if (came === "whole") {
    state.place = null;
    card.hidden = true;
    sites = sitesOf(fleet.nodes);
    plan = null;
  }
  view.removeAttribute("aria-busy");
  if (plan) dress();
  else arrange();
}
const refresh = () => { if (!timers.refresh && !document.hidden) timers.refresh = setTimeout(load, REFRESH_MS); };

// ---- what is seen: the plan, how cards look, what passes
function arrange() {
  if (!fleet.count) return;
  const width = Math.max(240, view.clientWidth);
  const height = Math.max(LEAST_HEIGHT, window.innerHeight - view.getBoundingClientRect().top - window.scrollY - BELOW_PX);
  plan = fitted(sites, fleet.count, width, height);
  view.style.height = `${height}px`;
  if (painter.width !== width || painter.height !== height || painter.ratio !== window.devicePixelRatio) painter.resize(width, height);
  camera.frame(plan, width, height);
  dress();
}

function dress() {
  if (painter.palette !== palette) painter.reset(palette);
  const { passes, passesOthers } = filter.apply(fleet, state.by);
  scene = { ...looksOf(fleet, state.by, palette), passes, words, titleOf, figuresOf };
  const only = filter.only(FILTER_OF[state.by]);
  fillLegend(legend, entriesOf(fleet, state.by, passesOthers, only, words, palette), only, painter, words);
  summarise();
  draw();
}

const titleOf = (island) => island.name || `${words.no_island} ${fleet.nodes.models[island.model]}`;

function figuresOf(index) {
  if (fleet.use[index] < 0 || !SHOWS_USE.has(fleet.kind(index))) return [];
  const use = String(fleet.use[index]);
  return fleet.power[index] < 0 ? [use] : [`${use} %`, `${fleet.power[index]} W`, use];
}

// "6,212 GPUs: 4,100 in use (4,000 active, 100 hardly used), 1,900 free, ..."
function summarise() {
  const kinds = kindsOf(fleet, 0, fleet.count, scene.passes);
  const sum = (some) => some.reduce((all, [, gpus]) => all + gpus, 0);
  const told = (some) => some.map(([kind, gpus]) => `${counted(gpus)} ${words.doing[kind]}`);
  const busy = kinds.filter(([kind]) => inUse.has(kind));
  const all = filter.isOn ? words.some_of.replace("%(some)s", counted(sum(kinds))).replace("%(all)s", counted(fleet.count)) : counted(sum(kinds));
  const used = words.in_use.replace("%(n)s", counted(sum(busy))) + (busy.length > 1 ? ` (${told(busy).join(", ")})` : "");
  const text = `${all} GPUs: ${[used, ...told(kinds.filter(([kind]) => !inUse.has(kind)))].join(", ")}.`;
  if (summary.textContent !== text) summary.textContent = text;
}

function draw() {
  if (!timers.frame) timers.frame = requestAnimationFrame(paint);
}

function paint() {
  timers.frame = 0;
  if (!plan || !scene) return;
  const began = performance.now();
  scene.place = state.place;
  scene.openNode = state.open ? fleet.nodes.name.indexOf(state.open) : -1;
  canvas.classList.toggle("is-zoomed", !camera.isWhole);
  painter.paint(plan, scene, camera);
  performance.measure("fleet-paint", { start: began, end: performance.now() });
}

// ---- filter and colours; both stand in the address, and the table's address has them, too
function remember() {
  const query = new URLSearchParams(location.search);
  filter.write(query);
  const set = (name, value) => (value ? query.set(name, value) : query.delete(name));
  set("by", state.by === "state" ? "" : state.by);
  set("open", state.open);
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
  const table = new URLSearchParams({ as: "table" });
  filter.write(table);
  for (const link of document.querySelectorAll("[data-table-link]")) link.href = `?${table}`;
  view.closest("main").classList.toggle("is-filtered", filter.isOn);
}

function filtered() {
  remember();
  if (fleet.count) dress();
}

function showForm() {
  for (const field of form.elements) {
    if (!(field.name in filter.values)) continue;
    const several = field.querySelector("[data-several]");
    if (several) {
      several.hidden = !filter.values[field.name].includes(",");
      several.value = several.hidden ? "several" : filter.values[field.name];
    }
    field.value = filter.values[field.name];
  }
}

legend.addEventListener("click", (event) => {
  const key = event.target.closest("[data-entry]")?.dataset.entry;
  if (!key) return;
  filter.toggle(FILTER_OF[state.by], key);
  showForm();
  filtered();
});
form.addEventListener("submit", (event) => { event.preventDefault(); filtered(); });
form.addEventListener("input", (event) => {
  if (!(event.target.name in filter.values)) return;
  filter.set(event.target.name, event.target.value);
  clearTimeout(timers.typing);
  timers.typing = setTimeout(filtered, event.target.matches("select") ? 0 : TYPING_MS);
});
document.querySelector("[data-fleet-all]").addEventListener("click", (event) => {
  event.preventDefault();
  for (const name of Object.keys(filter.values)) filter.set(name, "");
  showForm();
  filtered();
});
const choice = document.querySelector("[data-colour-by]");
choice.addEventListener("change", () => {
  state.by = choice.value;
  filtered();
});

// ---- the place: under the pointer, or where the keys stand
function stand(place, isSaid = false) {
  state.place = place;
  clearTimeout(timers.speak);
  if (place) {
    const said = wordsOf(fleet, plan, place, words, scene.passes);
    fillCard(card, said, camera.onScreen(boxOf(plan, place)), painter);
    if (isSaid) timers.speak = setTimeout(() => { spoken.textContent = spokenOf(said); }, SPEAK_MS);
  } else {
    card.hidden = true;
  }
  draw();
}

function placeAt(left, top) {
  const found = under(plan, camera.x + left / camera.k, camera.y + top / camera.k);
  if (found.card >= 0 && camera.cell >= POINT_CARD_PX) return { level: "card", index: found.card };
  if (found.node >= 0 && plan.nodes[found.node].width * camera.k >= POINT_NODE_PX) return { level: "node", index: found.node };
  return found.island >= 0 ? { level: "island", index: found.island } : null;
}

function zoom(factor, left, top) {
  const before = camera.k;
  if (factor) camera.zoom(factor, left, top);
  else camera.whole();
  if (state.place) stand(state.place);
  draw();
  return camera.k !== before;
}

listen(canvas, {
  zoom: (factor, left, top) => Boolean(plan) && zoom(factor, left, top),
  drag(dx, dy) {
    camera.move(dx, dy);
    stand(null);
  },
  hover(left, top) {
    if (!plan || !scene) return;
    const place = left === null ? null : placeAt(left, top);
    if (left === null && document.activeElement === canvas) return;
    canvas.classList.toggle("is-on-card", Boolean(place));
    if (place?.level !== state.place?.level || place?.index !== state.place?.index) stand(place);
  },
  press(left, top) {
    const place = placeAt(left, top);
    if (!place) return;
    if (place.level === "island") {
      camera.show(boxOf(plan, place));
      stand(null);
    } else open(place);
  },
});
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => zoom({ in: ZOOM, out: 1 / ZOOM, fit: 0 }[button.dataset.zoom]));
}

// ---- keys: arrows go to the neighbour, Enter goes in and Escape out
function step(key) {
  const place = state.place;
  if (!place) return edgeOf(plan, topOf(plan), "Home");
  if (key === "Home" || key === "End") return edgeOf(plan, place.level, key);
  return neighbour(plan, place, key);
}

function goIn() {
  const place = state.place || edgeOf(plan, topOf(plan), "Home");
  if (place.level === "card") return open(place, true);
  camera.show(boxOf(plan, place));
  return stand(inwards(plan, place), true);
}

function goOut() {
  const out = state.place && outwards(plan, state.place, fleet.nodeOf);
  if (out) camera.show(boxOf(plan, out));
  else camera.whole();
  stand(out, true);
}

canvas.addEventListener("keydown", (event) => {
  if (!plan || !scene || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
    const place = step(event.key);
    camera.reach(boxOf(plan, place));
    stand(place, true);
  } else if (event.key === "Enter") goIn();
  else if (event.key === "Escape") goOut();
  else if (event.key === "+" || event.key === "=" || event.key === "-") {
    const box = state.place && camera.onScreen(boxOf(plan, state.place));
    zoom(event.key === "-" ? 1 / ZOOM : ZOOM, box ? box.x + box.width / 2 : undefined, box ? box.y + box.height / 2 : undefined);
  } else if (event.key === "0") zoom(0);
  else return;
  event.preventDefault();
});
canvas.addEventListener("blur", () => stand(null));

// ---- the node beside, with the card that was chosen
function open(place, isFocused = false) {
  const node = place.level === "card" ? fleet.nodeOf[place.index] : place.index;
  state.open = fleet.nodes.name[node];
  remember();
  beside.hidden = false;
  document.body.classList.add("has-beside");
  const chosen = place.level === "card" ? `?gpu=${fleet.gpu[place.index]}` : "";
  const target = view.dataset.node.replace("NAME", encodeURIComponent(state.open)) + chosen;
  window.htmx.ajax("GET", target, { target: beside, swap: "innerHTML" }).then(() => {
    if (isFocused) (beside.querySelector("[aria-current] a") || beside.querySelector("h2"))?.focus();
  });
  arrange();
}
beside.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-beside]")) closeBeside();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && beside.contains(document.activeElement)) closeBeside();
});
function closeBeside() {
  const node = fleet.nodes.name.indexOf(state.open);
  state.open = "";
  remember();
  beside.hidden = true;
  beside.replaceChildren();
  document.body.classList.remove("has-beside");
  arrange();
  canvas.focus();
  if (node >= 0) stand({ level: "node", index: node });
}

// ---- what changes by itself
const again = () => { palette = paletteOf(view); if (plan) dress(); };
new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
new ResizeObserver(() => { if (plan && painter.width !== view.clientWidth) arrange(); }).observe(view);
window.addEventListener("resize", arrange);
for (const topic of ["survey", "move", "cordon", "plan", "gpu", "node", "all"]) document.body.addEventListener(`live:${topic}`, refresh);

choice.value = state.by;
showForm();
remember();
load().then(() => {
  const node = state.open ? fleet.nodes.name.indexOf(state.open) : -1;
  if (node >= 0) open({ level: "node", index: node });
});
