// What stands at a place of the map in words: for the card under the pointer, and for those who listen.

import { cardsOf } from "./fleet-walk.js";

const KINDS_SAID = 4; // of an island; the rest is for the legend

const language = () => document.documentElement.lang;
export const counted = (number) => number.toLocaleString(language());

function age(at, now, words) {
  if (Number.isNaN(at)) return words.never;
  const spent = Math.max(0, Math.round(now - at));
  const [unit, each] = spent < 120 ? ["second", 1] : spent < 7200 ? ["minute", 60] : spent < 172800 ? ["hour", 3600] : ["day", 86400];
  return new Intl.RelativeTimeFormat(language(), { numeric: "always", style: "short" }).format(-Math.floor(spent / each), unit);
}

function cardInWords(fleet, index, words) {
  const { name, site, island, model } = fleet.nodeFacts(fleet.nodeOf[index]);
  const [holder, assigned] = [fleet.holder[index], fleet.assigned[index]];
  const nameOf = (number) => (number >= 0 ? fleet.names[number].name : words.nobody);
  const isKnown = holder !== -2;
  const facts = [[words.node, [name, island, site].filter(Boolean).join(" · ")]];
  if (fleet.slot(index)) facts.push([words.slot, fleet.slot(index)]);
  facts.push([words.model, model], [words.holder, isKnown ? nameOf(holder) : words.unknown]);
  if (!isKnown || assigned !== holder) facts.push([words.meant, nameOf(assigned)]);
  if (!Number.isNaN(fleet.since[index])) facts.push([words.since, age(fleet.since[index], fleet.now(), words)]);
  if (fleet.use[index] >= 0) facts.push([words.use, `${fleet.use[index]} %`]);
  if (fleet.power[index] >= 0) facts.push([words.power, `${fleet.power[index]} W`]);
  facts.push([words.read, age(fleet.read[index], fleet.now(), words)]);
  return { title: words.doing[fleet.kind(index)], facts };
}

// GPUs by what they do, most frequent first: [[kind, how many], ...].
export function kindsOf(fleet, first, last, passes) {
  const counts = new Map();
  for (let index = first; index < last; index += 1) {
    if (passes[index]) counts.set(fleet.kind(index), (counts.get(fleet.kind(index)) || 0) + 1);
  }
  return [...counts].sort((one, other) => other[1] - one[1]);
}

// A title, and pairs of a name and a value.
export function wordsOf(fleet, plan, place, words, passes) {
  if (place.level === "card") return cardInWords(fleet, place.index, words);
  const [first, last] = cardsOf(plan, place);
  const node = place.level === "node" ? fleet.nodeFacts(place.index) : null;
  const box = { site: plan.sites, island: plan.islands }[place.level]?.[place.index];
  const title = node?.name || box?.name || words[`no_${place.level}`];
  const kinds = kindsOf(fleet, first, last, passes);
  const facts = kinds.slice(0, KINDS_SAID).map(([kind, gpus]) => [words.doing[kind], counted(gpus)]);
  const shown = kinds.reduce((sum, [, gpus]) => sum + gpus, 0);
  const gpus = shown === last - first ? counted(shown) : words.some_of.replace("%(some)s", counted(shown)).replace("%(all)s", counted(last - first));
  return { title: `${words[place.level]} ${title}`, facts: [["GPUs", gpus], ...facts] };
}

export const spokenOf = ({ title, facts }) => [title, ...facts.map(([name, value]) => `${name}: ${value}`)].join(", ");

// Fills the hover card and puts it beside the box, inside `room`.
export function fillCard(card, { title, facts }, box, room) {
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [name, value] of facts) {
    const term = document.createElement("dt");
    const text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
  }
  const head = document.createElement("strong");
  head.textContent = title;
  card.replaceChildren(head, list);
  card.hidden = false;
  const most = { x: room.width - card.offsetWidth - 4, y: room.height - card.offsetHeight - 4 };
  const isRoomRight = box.x + box.width + 10 <= most.x;
  const left = isRoomRight ? box.x + box.width + 10 : box.x - card.offsetWidth - 10;
  const below = box.y + box.height + 10;
  const top = below > most.y && box.y - card.offsetHeight - 10 >= 0 ? box.y - card.offsetHeight - 10 : below;
  card.style.transform = `translate(${Math.max(0, Math.min(left, most.x))}px, ${Math.max(0, Math.min(top, most.y))}px)`;
}
