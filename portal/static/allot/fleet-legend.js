// The legend of the map: what there is, how much of it, how it looks; each entry is a switch of the filter.

import { counted } from "./fleet-card.js";
import { KEYS, KEY_OF, NOBODY, lookOf } from "./fleet-looks.js";

const MOST = 28; // entries that an eye runs over; the others are found by the filter
const SIDE = 14;

// [key, name, GPUs, look] of what passes the other filters; what is filtered for stays though there is none of it now.
export function entriesOf(fleet, by, passesOthers, only, words, palette) {
  const counts = new Map();
  const named = new Map();
  for (let index = 0; index < fleet.count; index += 1) {
    if (!passesOthers[index]) continue;
    const key = KEY_OF[by](fleet, index);
    counts.set(key, (counts.get(key) || 0) + 1);
    if (!named.has(key)) named.set(key, fleet.names[fleet.whose(index)]);
  }
  for (const key of only) if (!counts.has(key)) counts.set(key, 0);
  const order = by === "state" ? fleet.kinds : KEYS[by];
  const keys = [...counts.keys()].sort((one, other) => (order ? order.indexOf(one) - order.indexOf(other) : (one === NOBODY) - (other === NOBODY) || counts.get(other) - counts.get(one)));
  const nameOf = (key) => {
    if (order) return (by === "state" ? words.doing : words[`${by}_steps`])[key] ?? key;
    if (key === NOBODY) return words.nobody;
    return (by === "project" ? named.get(key)?.name : named.get(key)?.divisionName) || key;
  };
  return keys.map((key) => [key, nameOf(key), counts.get(key), lookOf(by, key, palette, named.get(key)?.swatch ?? -1)]);
}

// A button for each entry; the one that had the focus keeps it.
export function fillLegend(legend, entries, only, painter, words) {
  const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.entry : "";
  const shown = entries.filter(([key], place) => place < MOST || only.has(key));
  const side = Math.round(SIDE * painter.ratio);
  legend.replaceChildren(...shown.map(([key, name, gpus, look]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "legend-key";
    button.dataset.entry = key;
    button.setAttribute("aria-pressed", String(only.has(key)));
    const sample = document.createElement("canvas");
    sample.width = sample.height = side;
    sample.className = "legend-sample";
    sample.getContext("2d").drawImage(painter.sprite(look, side), 0, 0);
    const label = document.createElement("span");
    label.textContent = name;
    const count = document.createElement("strong");
    count.textContent = counted(gpus);
    button.append(sample, label, count);
    return button;
  }));
  if (shown.length < entries.length) {
    const rest = document.createElement("span");
    rest.className = "legend-rest";
    rest.textContent = words.more.replace("%(n)s", counted(entries.length - shown.length));
    legend.append(rest);
  }
  if (focused) legend.querySelector(`[data-entry="${CSS.escape(focused)}"]`)?.focus();
}
