// Paints the fleet on a canvas: one stamp for each look of a card, copied to its place; only what is in sight.

import { drawLook } from "./fleet-stamp.js";
import { boxOf } from "./fleet-walk.js";

const DIM = 0.13; // cards that are filtered out stay as a ghost: the map keeps its shape
const FIGURES_FROM = 26; // px of a card from which its use fits into it
const POWER_FROM = 46; // px from which its power does, too
const NAMES_FROM = 44; // px of a node from which its name says something
const NAMES_ROOM = 13; // px above a node that its name needs
const TITLE_ROOM = 11; // px above an island that its title needs
const TITLES_FROM = 28; // px of an island

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.ratio = window.devicePixelRatio || 1;
    this.forget();
  }

  // A new theme: the looks are drawn anew.
  reset(palette) {
    this.palette = palette;
    this.forget();
  }

  forget() {
    this.sprites = new Map();
    this.stamps = new Map();
    this.fitted = new Map();
  }

  resize(width, height) {
    this.ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.forget();
  }

  // `side`: in pixels of the screen.
  sprite(look, side) {
    const key = `${look.colour}|${look.pattern}|${side}`;
    let sprite = this.sprites.get(key);
    if (!sprite) {
      sprite = document.createElement("canvas");
      sprite.width = sprite.height = side;
      const context = sprite.getContext("2d", { willReadFrequently: true });
      context.scale(this.ratio, this.ratio);
      drawLook(context, side / this.ratio, look, this.palette);
      this.sprites.set(key, sprite);
    }
    return sprite;
  }

  // The pixels of each look: copied by hand, ten thousand cards take a tenth of what as many drawImage calls do.
  stampsOf(looks, side, dimmed) {
    return looks.map((look) => {
      const key = `${look.colour}|${look.pattern}|${side}|${dimmed}`;
      let stamp = this.stamps.get(key);
      if (!stamp) {
        const { data } = this.sprite(look, side).getContext("2d").getImageData(0, 0, side, side);
        if (dimmed) for (let at = 3; at < data.length; at += 4) data[at] *= DIM;
        stamp = new Uint32Array(data.buffer);
        if (this.stamps.size > 2000) this.stamps.clear(); // a long zoom leaves looks of every size behind
        this.stamps.set(key, stamp);
      }
      return stamp;
    });
  }

  // `camera`: the corner in units of the plan, and pixels a unit. `scene`: looks and what passes the filter, titles,
  // figures, where somebody stands, the node that is open.
  paint(plan, scene, camera) {
    const { context, ratio, width, height } = this;
    const { x, y, k } = camera;
    const right = x + width / k;
    const bottom = y + height / k;
    const seen = (box) => box.x < right && box.x + box.width > x && box.y < bottom && box.y + box.height > y;
    const cell = plan.step * k;
    const side = Math.max(1, Math.round((cell - (cell >= 8 ? 2 : cell >= 5 ? 1 : 0)) * ratio));
    const shown = plan.islands.filter(seen);
    const nodes = shown.flatMap((island) => island.nodes.map((index) => plan.nodes[index]).filter(seen));
    this.pixels.fill(0);
    this.paintCards(plan, nodes, scene, camera, side);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintTitles(plan, shown, scene, camera);
    if (plan.nameRoom * k >= NAMES_ROOM) this.paintNames(nodes, camera);
    if (side / ratio >= FIGURES_FROM) this.paintFigures(plan, nodes, scene, camera, side / ratio);
    this.paintMarks(plan, scene, camera);
  }

  paintCards(plan, nodes, scene, camera, side) {
    const bright = this.stampsOf(scene.looks, side, false);
    const dim = this.stampsOf(scene.looks, side, true);
    const { of, passes } = scene;
    const k = camera.k * this.ratio;
    const left = camera.x * k;
    const top = camera.y * k;
    for (const node of nodes) {
      const last = node.first + node.count;
      for (let card = node.first; card < last; card += 1) {
        this.put((passes[card] ? bright : dim)[of[card]], side, Math.round(plan.x[card] * k - left), Math.round(plan.y[card] * k - top));
      }
    }
  }

  put(stamp, side, left, top) {
    const { width, height } = this.canvas;
    const target = this.pixels;
    const from = Math.max(0, -left);
    const until = Math.min(side, width - left);
    for (let row = Math.max(0, -top); row < side && top + row < height; row += 1) {
      const start = (top + row) * width + left;
      const source = row * side;
      for (let column = from; column < until; column += 1) target[start + column] = stamp[source + column];
    }
  }

  fit(text, most, font) {
    const key = `${text}|${Math.round(most)}|${font}`;
    let shown = this.fitted.get(key);
    if (shown === undefined) {
      this.context.font = font;
      shown = text;
      while (shown.length > 1 && this.context.measureText(shown).width > most) shown = `${shown.slice(0, -2)}…`;
      if (this.fitted.size > 20_000) this.fitted.clear();
      this.fitted.set(key, shown);
    }
    return shown;
  }

  write(text, x, y, most, font, colour = this.palette.muted) {
    const shown = this.fit(text, most, font);
    this.context.font = font;
    this.context.fillStyle = colour;
    this.context.fillText(shown, x, y);
  }

  // Titles stay in sight while a part of their island is.
  paintTitles(plan, islands, scene, { x, y, k }) {
    this.context.textBaseline = "alphabetic";
    const titled = (box, text, font, colour) => {
      const left = Math.max((box.x - x) * k, 4);
      const most = (box.x + box.width - x) * k - left;
      if (most >= TITLES_FROM) this.write(text, left, (box.y - y) * k + 11, most, font, colour);
    };
    if (plan.sites.length > 1) for (const site of plan.sites) titled(site, site.name || scene.words.no_site, `600 12px ${this.palette.font}`, this.palette.ink);
    if (plan.titleRoom * k < TITLE_ROOM) return; // from afar the pointer and the keys say an island's name
    for (const island of islands) titled(island, scene.titleOf(island), `11px ${this.palette.font}`);
  }

  paintNames(nodes, { x, y, k }) {
    for (const node of nodes) {
      if (node.width * k >= NAMES_FROM) this.write(node.name, (node.x - x) * k, (node.y - y) * k - 3, node.width * k, `10px ${this.palette.font}`);
    }
  }

  paintFigures(plan, nodes, scene, { x, y, k }, side) {
    const { context } = this;
    context.textAlign = "center";
    context.lineWidth = 3;
    context.strokeStyle = this.palette.ground;
    context.fillStyle = this.palette.ink;
    const put = (text, left, top, font) => {
      context.font = font;
      context.strokeText(text, left, top);
      context.fillText(text, left, top);
    };
    for (const node of nodes) {
      for (let card = node.first; card < node.first + node.count; card += 1) {
        const figures = scene.passes[card] ? scene.figuresOf(card) : [];
        if (!figures.length) continue;
        const left = (plan.x[card] - x) * k + side / 2;
        const top = (plan.y[card] - y) * k + side / 2 + 4;
        const both = side >= POWER_FROM && figures.length > 1;
        put(both ? figures[0] : figures.at(-1), left, both ? top - 6 : top, `600 11px ${this.palette.font}`);
        if (both) put(figures[1], left, top + 8, `10px ${this.palette.font}`);
      }
    }
    context.textAlign = "start";
  }

  paintMarks(plan, scene, { x, y, k }) {
    const { context, palette } = this;
    context.strokeStyle = palette.mark;
    context.lineWidth = 2;
    const around = (box) => context.strokeRect((box.x - x) * k - 3, (box.y - y) * k - 3, box.width * k + 6, box.height * k + 6);
    if (scene.openNode >= 0) around(plan.nodes[scene.openNode]);
    if (scene.place) around(boxOf(plan, scene.place));
  }
}
