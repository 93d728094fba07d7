// Where every GPU of the fleet lies on the map: cards in a strip are a node, nodes in a block an island, islands in a
// band a site. Pure arithmetic over the nodes of tiles.json; no DOM. A unit is a pixel when the whole fleet is in sight.

const SMALLEST = 1; // px a side
const LARGEST_FIT = 26; // px: a small fleet does not become a wall of bricks
export const LARGEST = 72; // px: use and power can be read, nothing is gained beyond
const CARDS_A_ROW = 8; // as they sit in a chassis
const BLOCK_SHAPE = 1.4; // width to height that an island aims at: the shape of a screen
const LEAST_TITLE = 64; // an island of one small node still says its name
const NAMES_FROM = 15; // px of a card from which node names get room of their own
const NAME = 13;
const NAMED_WIDTH = 52;

function spacing(size) {
  const gap = size >= 6 ? 2 : size >= 4 ? 1 : 0;
  const near = size >= 6;
  return {
    step: size + gap, gap, nodeGap: near ? 6 : size >= 4 ? 3 : 1, blockGap: near ? 18 : 6, siteGap: near ? 22 : 12,
    title: near ? 18 : 4, siteTitle: near ? 20 : 16, leastWidth: near ? LEAST_TITLE : 0, name: size >= NAMES_FROM ? NAME : 0,
  };
}

// Sites of blocks of nodes. Consecutive nodes of one site and island (and, without an island, of one model) make a block.
export function sitesOf(nodes) {
  const sites = [];
  let first = 0;
  nodes.name.forEach((name, index) => {
    const [site, island, model, count] = [nodes.site[index], nodes.island[index], nodes.model[index], nodes.gpus[index]];
    const key = nodes.islands[island] ? `${island}` : `-${model}`;
    if (sites.at(-1)?.site !== site) sites.push({ site, name: nodes.sites[site], blocks: [] });
    const blocks = sites.at(-1).blocks;
    if (blocks.at(-1)?.key !== key) blocks.push({ key, name: nodes.islands[island], model, nodes: [] });
    blocks.at(-1).nodes.push({ index, name, count, first });
    first += count;
  });
  return sites;
}

function measure(block, space, width) {
  const { step, gap, nodeGap, name, title } = space;
  const columns = Math.min(CARDS_A_ROW, Math.max(...block.nodes.map((node) => node.count), 1));
  const rows = Math.max(...block.nodes.map((node) => Math.ceil(node.count / CARDS_A_ROW)), 1);
  const nodeWidth = Math.max(columns * step - gap, name ? NAMED_WIDTH : 0) + nodeGap;
  const nodeHeight = rows * step - gap + nodeGap + name;
  const wished = Math.round(Math.sqrt((block.nodes.length * nodeHeight * BLOCK_SHAPE) / nodeWidth));
  const most = Math.max(1, Math.floor((width + nodeGap) / nodeWidth));
  const across = Math.min(Math.max(1, wished), most, block.nodes.length);
  const down = Math.ceil(block.nodes.length / across);
  return { nodeWidth, nodeHeight, across, width: across * nodeWidth - nodeGap, height: title + down * nodeHeight - nodeGap };
}

function place(block, box, space, left, top, plan) {
  const { step, nodeGap, name, title } = space;
  const island = plan.islands.length;
  plan.islands.push({ name: block.name, model: block.model, nodes: block.nodes.map((node) => node.index), site: plan.sites.length, x: left, y: top, width: Math.max(box.width, space.leastWidth), height: box.height });
  block.nodes.forEach((node, order) => {
    const x = left + (order % box.across) * box.nodeWidth;
    const y = top + title + Math.floor(order / box.across) * box.nodeHeight;
    plan.nodes[node.index] = { name: node.name, first: node.first, count: node.count, island, x, y: y + name, width: box.nodeWidth - nodeGap, height: box.nodeHeight - nodeGap - name };
    for (let card = 0; card < node.count; card += 1) {
      plan.x[node.first + card] = x + (card % CARDS_A_ROW) * step;
      plan.y[node.first + card] = y + name + Math.floor(card / CARDS_A_ROW) * step;
    }
  });
}

// Blocks on shelves from left to right, sites below one another. `x` and `y` of every card; boxes of nodes, islands, sites.
export function layOut(sites, count, size, width) {
  const space = spacing(size);
  const plan = { step: space.step, gap: space.gap, nameRoom: space.nodeGap + space.name, titleRoom: space.title, x: new Float32Array(count), y: new Float32Array(count), nodes: [], islands: [], sites: [], width };
  const hasSites = sites.length > 1;
  let top = 0;
  for (const site of sites) {
    const begin = top;
    const first = plan.islands.length;
    let left = 0;
    let shelf = 0;
    if (hasSites) top += space.siteTitle;
    for (const block of site.blocks) {
      const box = measure(block, space, width);
      const taken = Math.max(box.width, space.leastWidth);
      if (left && left + taken > width) {
        left = 0;
        top += shelf + space.blockGap;
        shelf = 0;
      }
      place(block, box, space, left, top, plan);
      left += taken + space.blockGap;
      shelf = Math.max(shelf, box.height);
    }
    top += shelf;
    const islands = plan.islands.slice(first).map((_island, order) => first + order);
    plan.sites.push({ name: site.name, islands, x: 0, y: begin, width, height: top - begin });
    top += space.siteGap;
  }
  plan.height = Math.max(1, top - space.siteGap);
  return plan;
}

// The plan with the largest cards with which the whole fleet is in sight.
export function fitted(sites, count, width, height) {
  for (let size = LARGEST_FIT; size > SMALLEST; size -= size > 8 ? 1 : 0.5) {
    const plan = layOut(sites, count, size, width);
    if (plan.height <= height) return plan;
  }
  return layOut(sites, count, SMALLEST, width);
}

const holds = (box, x, y, margin = 0) => x >= box.x - margin && x <= box.x + box.width + margin && y >= box.y - margin && y <= box.y + box.height + margin;

// What lies under a point: the numbers of island, node and card, -1 for none. Islands first: not every card is asked.
export function under(plan, x, y) {
  const found = { island: plan.islands.findIndex((box) => holds(box, x, y)), node: -1, card: -1 };
  if (found.island < 0) return found;
  found.node = plan.islands[found.island].nodes.find((index) => holds(plan.nodes[index], x, y, plan.gap)) ?? -1;
  if (found.node < 0) return found;
  const node = plan.nodes[found.node];
  for (let card = node.first; card < node.first + node.count; card += 1) {
    if (x >= plan.x[card] && x < plan.x[card] + plan.step && y >= plan.y[card] && y < plan.y[card] + plan.step) found.card = card;
  }
  return found;
}
