// One GPU of the map in words: for the card under the pointer, and for those who listen.

function age(seconds, now, words) {
  if (seconds === null) return words.never;
  const spent = Math.max(0, Math.round(now - seconds));
  const [unit, each] = spent < 120 ? ["second", 1] : spent < 7200 ? ["minute", 60] : spent < 172800 ? ["hour", 3600] : ["day", 86400];
  return new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always", style: "short" }).format(-Math.floor(spent / each), unit);
}

// What it does, and pairs of a name and a value. `now`: the portal's clock in seconds.
export function wordsOf(fleet, index, words, now) {
  const [node, island, site, model] = fleet.nodes[fleet.nodeOf[index]];
  const holder = fleet.holder[index];
  const assigned = fleet.assigned[index];
  const nameOf = (number) => (number >= 0 ? fleet.projects[number][1] : words.nobody);
  const isKnown = holder !== -2;
  const facts = [
    [words.node, [node, island, site].filter(Boolean).join(" · ")],
    [words.model, fleet.models[model]],
    [words.holder, isKnown ? nameOf(holder) : words.unknown],
  ];
  if (isKnown && assigned !== holder) facts.push([words.meant, nameOf(assigned)]);
  if (fleet.util[index] !== null) facts.push([words.use, `${Math.round(fleet.util[index])} %`]);
  if (fleet.mem[index] !== null) facts.push([words.memory, `${(fleet.mem[index] / 1024).toFixed(1)} GiB`]);
  if (fleet.power[index] !== null) facts.push([words.power, `${Math.round(fleet.power[index])} W`]);
  facts.push([words.read, age(fleet.read[index], now, words)]);
  return { title: words.doing[fleet.kinds[fleet.doing[index]]], facts };
}

export const spokenOf = ({ title, facts }) => [title, ...facts.map(([name, value]) => `${name}: ${value}`)].join(", ");

// Fills the hover card and puts it beside the tile at `box`, inside `room`.
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
  const left = Math.min(box.x + box.size + 10, room.width - card.offsetWidth - 4);
  const below = box.y + box.size + 10;
  const top = below + card.offsetHeight > room.height ? Math.max(0, below - card.offsetHeight - box.size - 20) : below;
  card.style.transform = `translate(${Math.max(0, left)}px, ${top + room.scrolled}px)`;
}
