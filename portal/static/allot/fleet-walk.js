// Where somebody stands on the map: a site, an island, a node or a card; the way with the arrows, and into and out of it.

export const LEVELS = ["site", "island", "node", "card"];

// The box of what is at a level.
export function boxOf(plan, { level, index }) {
  if (level === "card") return { x: plan.x[index], y: plan.y[index], width: plan.step - plan.gap, height: plan.step - plan.gap };
  return { site: plan.sites, island: plan.islands, node: plan.nodes }[level][index];
}

const countOf = (plan, level) => ({ site: plan.sites.length, island: plan.islands.length, node: plan.nodes.length, card: plan.x.length })[level];

// The outermost level at which there is something to choose.
export const topOf = (plan) => LEVELS.find((level) => countOf(plan, level) > 1) || "card";

export function edgeOf(plan, level, key) {
  return { level, index: key === "End" ? countOf(plan, level) - 1 : 0 };
}

// The nearest of the same level in the direction of an arrow key; the same one at the edge.
export function neighbour(plan, place, key) {
  const across = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  const from = boxOf(plan, place);
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const [x, y] = middle(from);
  let best = place.index;
  let least = Infinity;
  for (let other = 0; other < countOf(plan, place.level); other += 1) {
    const [otherX, otherY] = middle(boxOf(plan, { level: place.level, index: other }));
    const along = sign * (across ? otherX - x : otherY - y);
    const far = along + Math.abs(across ? otherY - y : otherX - x) * 4;
    if (along < plan.step / 2 || far >= least) continue;
    least = far;
    best = other;
  }
  return { level: place.level, index: best };
}

export function inwards(plan, { level, index }) {
  if (level === "site") return { level: "island", index: plan.sites[index].islands[0] };
  if (level === "island") return { level: "node", index: plan.islands[index].nodes[0] };
  return { level: "card", index: level === "node" ? plan.nodes[index].first : index };
}

// One level out; null from the outermost one.
export function outwards(plan, { level, index }, nodeOf) {
  if (level === topOf(plan)) return null;
  if (level === "card") return { level: "node", index: nodeOf[index] };
  if (level === "node") return { level: "island", index: plan.nodes[index].island };
  return { level: "site", index: plan.islands[index].site };
}

// From the first to the last but one card of what is there: pairs, since an island's cards follow one another.
export function cardsOf(plan, { level, index }) {
  if (level === "card") return [index, index + 1];
  const nodes = level === "node" ? [index] : (level === "island" ? [index] : plan.sites[index].islands).flatMap((island) => plan.islands[island].nodes);
  const last = plan.nodes[nodes.at(-1)];
  return [plan.nodes[nodes[0]].first, last.first + last.count];
}
