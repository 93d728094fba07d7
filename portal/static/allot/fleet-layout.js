// Where every GPU of the fleet lies on the map: cards in a strip are a node, nodes in a block an island.
// Pure arithmetic over the columns of tiles.json; no DOM.

export const SMALLEST = 2; // px a side: below it a card cannot be told from its neighbour
const LARGEST_FIT = 26; // px: a small fleet does not become a wall of bricks
const LARGEST = 64;
const CARDS_A_ROW = 8; // as they sit in a chassis
const BLOCK_SHAPE = 1.4; // width to height that an island aims at: the shape of a screen

const TITLE = 18; // px above an island
const LEAST_TITLE = 64; // px: an island of one small node still says its name
const NAME = 13; // px above a node, once names can be read
const NAMES_FROM = 15; // px of a card from which node names fit

export const clampSize = (size) => Math.min(LARGEST, Math.max(SMALLEST, size));
export const showsNames = (size) => size >= NAMES_FROM;

function spacing(size) {
  const gap = size >= 6 ? 2 : size >= 4 ? 1 : 0;
  return { gap, step: size + gap, nodeGap: size >= 6 ? 6 : 3, blockGap: size >= 6 ? 18 : 10, name: showsNames(size) ? NAME : 0 };
}

// Consecutive nodes of one site and island (and, without an island, of one model) make a block.
export function blocksOf(nodes) {
  const blocks = [];
  let first = 0;
  nodes.forEach(([name, island, site, model, count], index) => {
    const key = JSON.stringify([site, island, island ? "" : model]);
    if (!blocks.length || blocks.at(-1).key !== key) blocks.push({ key, island, site, model, nodes: [] });
    blocks.at(-1).nodes.push({ index, name, count, first });
    first += count;
  });
  return blocks;
}

function measure(block, size, width) {
  const { step, gap, nodeGap, name } = spacing(size);
  const columns = Math.min(CARDS_A_ROW, Math.max(...block.nodes.map((node) => node.count), 1));
  const rows = Math.max(...block.nodes.map((node) => Math.ceil(node.count / CARDS_A_ROW)), 1);
  const nodeWidth = Math.max(columns * step - gap, name ? 52 : 0) + nodeGap;
  const nodeHeight = rows * step - gap + nodeGap + name;
  const wished = Math.round(Math.sqrt((block.nodes.length * nodeHeight * BLOCK_SHAPE) / nodeWidth));
  const most = Math.max(1, Math.floor((width + nodeGap) / nodeWidth));
  const across = Math.min(Math.max(1, wished), most, block.nodes.length);
  const down = Math.ceil(block.nodes.length / across);
  return { nodeWidth, nodeHeight, across, width: across * nodeWidth - nodeGap, height: TITLE + down * nodeHeight - nodeGap };
}

// Blocks on shelves from left to right. `x` and `y` of every card, by its index; the boxes of nodes and islands.
export function layOut(blocks, count, size, width) {
  const { step, blockGap, nodeGap, name } = spacing(size);
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  const nodes = [];
  const islands = [];
  let left = 0;
  let top = 0;
  let shelf = 0;
  for (const block of blocks) {
    const box = measure(block, size, width);
    const taken = Math.max(box.width, LEAST_TITLE);
    if (left && left + taken > width) {
      left = 0;
      top += shelf + blockGap;
      shelf = 0;
    }
    islands.push({ block, x: left, y: top, width: taken, height: box.height });
    block.nodes.forEach((node, order) => {
      const nodeX = left + (order % box.across) * box.nodeWidth;
      const nodeY = top + TITLE + Math.floor(order / box.across) * box.nodeHeight;
      nodes[node.index] = { ...node, x: nodeX, y: nodeY, width: box.nodeWidth - nodeGap, height: box.nodeHeight - nodeGap };
      for (let card = 0; card < node.count; card += 1) {
        x[node.first + card] = nodeX + (card % CARDS_A_ROW) * step;
        y[node.first + card] = nodeY + name + Math.floor(card / CARDS_A_ROW) * step;
      }
    });
    left += taken + blockGap;
    shelf = Math.max(shelf, box.height);
  }
  return { size, x, y, nodes, islands, width, height: top + shelf, name };
}

// The largest cards with which the whole fleet is in sight.
export function fitting(blocks, count, width, height) {
  for (let size = LARGEST_FIT; size > SMALLEST; size -= size > 8 ? 1 : 0.5) {
    if (layOut(blocks, count, size, width).height <= height) return size;
  }
  return SMALLEST;
}

// The card under a point; -1 for none. Islands and nodes first: 10,000 cards are not asked one by one.
export function cardAt(plan, px, py) {
  const island = plan.islands.find((box) => px >= box.x && px <= box.x + box.width && py >= box.y && py <= box.y + box.height);
  if (!island) return -1;
  for (const { index } of island.block.nodes) {
    const node = plan.nodes[index];
    if (px < node.x || px > node.x + node.width || py < node.y || py > node.y + node.height) continue;
    for (let card = node.first; card < node.first + node.count; card += 1) {
      if (px >= plan.x[card] && px < plan.x[card] + plan.size && py >= plan.y[card] && py < plan.y[card] + plan.size) return card;
    }
  }
  return -1;
}

// The nearest card in the direction of an arrow key; the same card at the edge.
export function neighbour(plan, card, key) {
  const across = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  let best = card;
  let least = Infinity;
  for (let other = 0; other < plan.x.length; other += 1) {
    const along = sign * (across ? plan.x[other] - plan.x[card] : plan.y[other] - plan.y[card]);
    const aside = Math.abs(across ? plan.y[other] - plan.y[card] : plan.x[other] - plan.x[card]);
    if (along < plan.size / 2) continue;
    const far = along + aside * 4;
    if (far < least) {
      least = far;
      best = other;
    }
  }
  return best;
}
