// The legend of the map: what there is, how much of it, how it looks; each entry is a switch of the filter.

import { lookOf } from "./fleet-paint.js";

const NOBODY = "-";

// [key, name, GPUs, look] of what the map shows; what is filtered for stays though there is none of it now.
export function entriesOf(fleet, by, keyOf, only, words, palette) {
  const counts = new Map();
  for (let index = 0; index < fleet.doing.length; index += 1) {
    const key = keyOf(index) || NOBODY;
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const isShown = (key) => counts.has(key) || only.has(key);
  const gpus = (key) => counts.get(key) || 0;
  if (by === "state") {
    return fleet.kinds.filter(isShown).map((kind) => [kind, words.doing[kind], gpus(kind), lookOf(kind, by, -1, palette)]);
  }
  const projects = fleet.projects
    .filter(([slug]) => isShown(slug))
    .map(([slug, name, , swatch]) => [slug, name, gpus(slug), lookOf("active", by, swatch, palette)])
    .sort((one, other) => other[2] - one[2]);
  return [...projects, [NOBODY, words.nobody, gpus(NOBODY), lookOf("free", "state", -1, palette)]];
}

// A button for each entry; the one that had the focus keeps it.
export function fillLegend(legend, entries, only, painter) {
  const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.entry : "";
  const side = 14 * painter.ratio;
  legend.replaceChildren(...entries.map(([key, name, gpus, look]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "legend-key";
    button.dataset.entry = key;
    button.setAttribute("aria-pressed", String(only.has(key)));
    const sample = document.createElement("canvas");
    sample.width = sample.height = side;
    sample.className = "legend-sample";
    sample.getContext("2d").drawImage(painter.sprite(look, 14), 0, 0, side, side);
    const label = document.createElement("span");
    label.textContent = name;
    const count = document.createElement("strong");
    count.textContent = gpus.toLocaleString(document.documentElement.lang);
    button.append(sample, label, count);
    return button;
  }));
  if (focused) legend.querySelector(`[data-entry="${CSS.escape(focused)}"]`)?.focus();
}
