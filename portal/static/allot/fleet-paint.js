// Paints the fleet on a canvas: one stamp for each look of a card, copied to its place; only what is in sight.

import { showsNames } from "./fleet-layout.js";

const SWATCHES = 10; // colours of projects; each comes plain, barred and dotted
const DIM = 0.13; // cards that the legend filters out stay as a ghost: the map keeps its shape
const FIGURES_FROM = 24; // px of a card from which its use fits into it
const PATTERNS_FROM = 5; // px: below it a pattern is noise

export function paletteOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(`--fleet-${name}`).trim();
  const names = ["active", "idle", "unknown", "lost", "free", "draining", "cordoned", "ghost", "hung", "low", "assigned", "ink", "muted", "ground", "mark"];
  const palette = Object.fromEntries(names.map((name) => [name, read(name)]));
  palette.swatches = Array.from({ length: SWATCHES }, (_, index) => read(`swatch-${index}`));
  palette.font = style.fontFamily;
  return palette;
}

// How a card looks: a colour and a pattern, which tell the same twice.
export function lookOf(doing, by, swatch, palette) {
  const byProject = by === "project" && swatch >= 0;
  const colour = byProject ? palette.swatches[swatch % SWATCHES] : palette[doing];
  const own = byProject ? ["plain", "bars", "dots"][Math.floor(swatch / SWATCHES) % 3] : null;
  switch (doing) {
    case "lost": return { colour: palette.lost, pattern: "cross" };
    case "cordoned": return { colour: palette.cordoned, pattern: "bar" };
    case "free": return { colour: palette.free, pattern: "outline" };
    case "unknown": return { colour, pattern: "hatch" };
    case "draining": return { colour, pattern: "wide-stripes" };
    case "assigned": return { colour, pattern: "corner" };
    case "ghost": return { colour: palette.ghost, pattern: "ring" };
    case "hung": return { colour: palette.hung, pattern: "bars" };
    case "low": return { colour, pattern: own || "dots" };
    case "idle": return { colour, pattern: own || "half" };
    default: return { colour, pattern: own || "plain" };
  }
}

function lines(context, size, every, width) {
  context.lineWidth = width;
  context.beginPath();
  for (let at = -size; at < size * 2; at += every) {
    context.moveTo(at, size + 1);
    context.lineTo(at + size + 1, 0);
  }
  context.stroke();
}

function drawLook(context, size, { colour, pattern }, palette) {
  const thin = Math.max(1, size / 12);
  context.fillStyle = context.strokeStyle = colour;
  const shape = size < PATTERNS_FROM ? { outline: "faint", corner: "faint", hatch: "faint", half: "faint" }[pattern] || "plain" : pattern;
  context.beginPath();
  context.rect(0, 0, size, size);
  context.clip();
  const fill = (alpha) => {
    context.globalAlpha = alpha;
    context.fillRect(0, 0, size, size);
    context.globalAlpha = 1;
  };
  const frame = () => {
    context.lineWidth = thin;
    context.strokeRect(thin / 2, thin / 2, size - thin, size - thin);
  };
  const paintings = {
    plain: () => fill(1),
    faint: () => fill(0.55),
    half: () => { fill(0.45); context.fillRect(0, size * 0.6, size, size * 0.4); },
    outline: () => frame(),
    corner: () => {
      frame();
      context.beginPath();
      context.moveTo(0, size); context.lineTo(size * 0.62, size); context.lineTo(0, size * 0.38);
      context.fill();
    },
    hatch: () => { fill(0.22); lines(context, size, Math.max(3, size / 4), Math.max(0.8, size / 16)); frame(); },
    bars: () => {
      fill(1);
      context.fillStyle = palette.ground;
      for (const at of [0.28, 0.66]) context.fillRect(size * at, 0, Math.max(1, size / 10), size);
    },
    "wide-stripes": () => { fill(0.3); lines(context, size, Math.max(5, size / 2.2), Math.max(1.6, size / 6)); frame(); },
    dots: () => {
      fill(1);
      context.fillStyle = palette.ground;
      for (const [dx, dy] of [[0.28, 0.28], [0.72, 0.28], [0.28, 0.72], [0.72, 0.72]]) {
        context.beginPath();
        context.arc(size * dx, size * dy, Math.max(0.8, size / 11), 0, Math.PI * 2);
        context.fill();
      }
    },
    cross: () => {
      fill(1);
      context.strokeStyle = palette.ground;
      context.lineWidth = Math.max(1.2, size / 8);
      context.beginPath();
      context.moveTo(size * 0.2, size * 0.2); context.lineTo(size * 0.8, size * 0.8);
      context.moveTo(size * 0.8, size * 0.2); context.lineTo(size * 0.2, size * 0.8);
      context.stroke();
    },
    bar: () => {
      fill(1);
      context.fillStyle = palette.ground;
      context.fillRect(size * 0.2, size * 0.42, size * 0.6, size * 0.16);
    },
    ring: () => {
      fill(0.3);
      context.lineWidth = Math.max(1.2, size / 8);
      context.beginPath();
      context.arc(size / 2, size / 2, size * 0.28, 0, Math.PI * 2);
      context.stroke();
      frame();
    },
  };
  paintings[shape]();
}

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.ratio = window.devicePixelRatio || 1;
    this.forget();
  }

  // A new theme or size: the looks are drawn anew.
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
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.forget();
  }

  sprite(look, size) {
    const key = `${look.colour}|${look.pattern}|${size}`;
    let sprite = this.sprites.get(key);
    if (!sprite) {
      sprite = document.createElement("canvas");
      sprite.width = sprite.height = Math.max(1, Math.round(size * this.ratio));
      const context = sprite.getContext("2d", { willReadFrequently: true });
      context.scale(sprite.width / size, sprite.height / size);
      drawLook(context, size, look, this.palette);
      this.sprites.set(key, sprite);
    }
    return sprite;
  }

  // The pixels of a look: copied by hand, ten thousand cards take a tenth of what as many drawImage calls do.
  stamp(look, size, dimmed) {
    const key = `${look.colour}|${look.pattern}|${size}|${dimmed}`;
    let stamp = this.stamps.get(key);
    if (!stamp) {
      const sprite = this.sprite(look, size);
      const { data } = sprite.getContext("2d").getImageData(0, 0, sprite.width, sprite.height);
      if (dimmed) for (let at = 3; at < data.length; at += 4) data[at] *= DIM;
      stamp = { side: sprite.width, pixels: new Uint32Array(data.buffer) };
      this.stamps.set(key, stamp);
    }
    return stamp;
  }

  // `scene`: looks and dimmed of every card, the labels' words, the marked card and node.
  paint(plan, scene, offset) {
    const { context, ratio, width, height } = this;
    const seen = (box) => box.x < offset.x + width && box.x + box.width > offset.x && box.y < offset.y + height && box.y + box.height > offset.y;
    const shown = plan.islands.filter(seen);
    this.pixels.fill(0);
    for (const island of shown) this.paintCards(plan, island, scene, offset, seen);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.translate(-offset.x, -offset.y);
    this.paintTitles(shown, scene);
    if (showsNames(plan.size)) this.paintNames(plan, shown, scene, seen);
    if (plan.size >= FIGURES_FROM) this.paintFigures(plan, shown, scene, seen);
    this.mark(plan, scene);
  }

  paintCards(plan, island, scene, offset, seen) {
    for (const { index } of island.block.nodes) {
      const node = plan.nodes[index];
      if (!seen(node)) continue;
      for (let card = node.first; card < node.first + node.count; card += 1) {
        const stamp = this.stamp(scene.looks[card], plan.size, scene.dimmed[card]);
        this.put(stamp, Math.round((plan.x[card] - offset.x) * this.ratio), Math.round((plan.y[card] - offset.y) * this.ratio));
      }
    }
  }

  put({ side, pixels }, left, top) {
    const { width, height } = this.canvas;
    const target = this.pixels;
    const from = Math.max(0, -left);
    const until = Math.min(side, width - left);
    for (let row = Math.max(0, -top); row < side && top + row < height; row += 1) {
      const start = (top + row) * width + left;
      for (let column = from; column < until; column += 1) target[start + column] = pixels[row * side + column];
    }
  }

  fit(text, most, font) {
    const key = `${text}|${most}|${font}`;
    let shown = this.fitted.get(key);
    if (shown === undefined) {
      this.context.font = font;
      shown = text;
      while (shown.length > 1 && this.context.measureText(shown).width > most) shown = `${shown.slice(0, -2)}…`;
      this.fitted.set(key, shown);
    }
    return shown;
  }

  write(text, x, y, most, colour, font) {
    const shown = this.fit(text, most, font);
    this.context.font = font;
    this.context.fillStyle = colour;
    this.context.fillText(shown, x, y);
  }

  paintTitles(islands, scene) {
    this.context.textBaseline = "alphabetic";
    for (const box of islands) {
      const font = `12px ${this.palette.font}`;
      const [whole, short] = scene.titlesOf(box.block);
      const title = this.fit(whole, box.width, font) === whole ? whole : short;
      this.write(title, box.x, box.y + 12, box.width, this.palette.muted, font);
    }
  }

  paintNames(plan, islands, scene, seen) {
    for (const { block } of islands) {
      for (const { index, name } of block.nodes) {
        const node = plan.nodes[index];
        if (seen(node)) this.write(name, node.x, node.y + 9, node.width, this.palette.muted, `10px ${this.palette.font}`);
      }
    }
  }

  paintFigures(plan, islands, scene, seen) {
    const { context } = this;
    context.textAlign = "center";
    for (const { block } of islands) {
      for (const { index } of block.nodes) {
        const node = plan.nodes[index];
        if (!seen(node)) continue;
        for (let card = node.first; card < node.first + node.count; card += 1) {
          const figure = scene.figureOf(card);
          if (figure === "" || scene.dimmed[card]) continue;
          const x = plan.x[card] + plan.size / 2;
          const y = plan.y[card] + plan.size / 2 + 4;
          context.font = `600 11px ${this.palette.font}`;
          context.lineWidth = 3;
          context.strokeStyle = this.palette.ground;
          context.strokeText(figure, x, y);
          context.fillStyle = this.palette.ink;
          context.fillText(figure, x, y);
        }
      }
    }
    context.textAlign = "start";
  }

  mark(plan, scene) {
    const { context, palette } = this;
    context.strokeStyle = palette.mark;
    if (scene.openNode >= 0 && plan.nodes[scene.openNode]) {
      const node = plan.nodes[scene.openNode];
      context.lineWidth = 2;
      context.strokeRect(node.x - 3, node.y - 3, node.width + 6, node.height + 6);
    }
    if (scene.card < 0) return;
    context.lineWidth = 2;
    context.strokeRect(plan.x[scene.card] - 2, plan.y[scene.card] - 2, plan.size + 4, plan.size + 4);
  }
}
