// How a look is drawn: the colours and patterns of cards, on a square of any size.

const PATTERNS_FROM = 5; // px: below it a pattern is noise

function lines(context, size, every, width) {
  context.lineWidth = width;
  context.beginPath();
  for (let at = -size; at < size * 2; at += every) {
    context.moveTo(at, size + 1);
    context.lineTo(at + size + 1, 0);
  }
  context.stroke();
}

export function drawLook(context, size, { colour, pattern }, palette) {
  const thin = Math.max(1, size / 12);
  context.fillStyle = context.strokeStyle = colour;
  const shape = size < PATTERNS_FROM ? { outline: "faint", corner: "faint", hatch: "faint", half: "faint", foot: "faint" }[pattern] || "plain" : pattern;
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
    foot: () => { fill(0.3); context.fillRect(0, size * 0.78, size, size * 0.22); frame(); },
    zigzag: () => {
      fill(1);
      context.strokeStyle = palette.ground;
      context.lineWidth = Math.max(1.2, size / 9);
      context.beginPath();
      for (let at = 0; at <= 4; at += 1) context[at ? "lineTo" : "moveTo"]((size * at) / 4, size * (at % 2 ? 0.3 : 0.7));
      context.stroke();
    },
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
