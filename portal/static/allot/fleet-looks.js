// What the map is coloured by, and how a card looks then: a colour and a pattern, which tell the same twice.

const SWATCHES = 10; // colours of projects; each comes plain, barred and dotted
const ROUND = SWATCHES * 3; // a project keeps its look for ever; after so many a look is somebody else's, too
export const NOBODY = "-";
export const UNKNOWN = "?";
const USE_FROM = [0, 5, 25, 50, 75]; // as the portal's filter has them
const AGE_FROM = [0, 60, 300, 3600];

export const BY = ["state", "project", "division", "use", "age"];
export const FILTER_OF = { state: "doing", project: "project", division: "division", use: "use", age: "age" };

export function paletteOf(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["active", "low", "idle", "unknown", "hung", "lost", "free", "draining", "cordoned", "ghost", "assigned", "ink", "muted", "ground", "mark"];
  const palette = Object.fromEntries(names.map((name) => [name, read(`fleet-${name}`)]));
  palette.swatches = Array.from({ length: SWATCHES }, (_, index) => read(`fleet-swatch-${index}`));
  palette.steps = USE_FROM.map((_, index) => read(`fleet-step-${index}`));
  palette.divisions = { research: read("research-fill"), applied: read("applied-fill") };
  palette.font = style.fontFamily;
  return palette;
}

const stepOf = (begins, value) => String(begins[begins.findLastIndex((from) => value >= from)] ?? begins[0]);

// The key of a card under each way to colour: also its word in the filter.
export const KEY_OF = {
  state: (fleet, index) => fleet.kind(index),
  project: (fleet, index) => fleet.names[fleet.whose(index)]?.slug ?? NOBODY,
  division: (fleet, index) => fleet.names[fleet.whose(index)]?.division || NOBODY,
  use: (fleet, index) => (fleet.use[index] < 0 || !fleet.isFresh(index) ? UNKNOWN : stepOf(USE_FROM, fleet.use[index])),
  age: (fleet, index) => (Number.isNaN(fleet.read[index]) ? UNKNOWN : stepOf(AGE_FROM, fleet.now() - fleet.read[index])),
};
export const KEYS = { use: [...USE_FROM.map(String), UNKNOWN], age: [...AGE_FROM.map(String), UNKNOWN] };

const STATES = { lost: "cross", cordoned: "bar", free: "outline", unknown: "hatch", draining: "wide-stripes", assigned: "corner", ghost: "ring", hung: "zigzag", low: "foot", idle: "half", active: "plain" };

const lookOfState = (kind, palette) => ({ colour: palette[kind], pattern: STATES[kind] });

function lookOfSwatch(swatch, palette) {
  if (swatch < 0) return { colour: palette.ghost, pattern: "ring" }; // a holder that nobody here knows
  return { colour: palette.swatches[swatch % SWATCHES], pattern: ["plain", "bars", "dots"][Math.floor((swatch % ROUND) / SWATCHES)] };
}

function lookOfDivision(slug, palette) {
  if (palette.divisions[slug]) return { colour: palette.divisions[slug], pattern: slug === "applied" ? "bars" : "plain" };
  const letters = [...slug].reduce((sum, letter) => sum * 31 + letter.codePointAt(0), 7);
  return { colour: palette.swatches[letters % SWATCHES], pattern: "dots" };
}

function lookOfStep(by, key, palette) {
  if (key === UNKNOWN) return { colour: palette.unknown, pattern: "hatch" };
  const order = KEYS[by].indexOf(key);
  return { colour: palette.steps[order], pattern: "plain" };
}

// `swatch`: the number of a project's look.
export function lookOf(by, key, palette, swatch = -1) {
  if (by === "state") return lookOfState(key, palette);
  if (by === "use" || by === "age") return lookOfStep(by, key, palette);
  if (key === NOBODY) return lookOfState("free", palette);
  return by === "project" ? lookOfSwatch(swatch, palette) : lookOfDivision(key, palette);
}

const OUT = new Set(["lost", "cordoned", "unknown"]);

// A number for every card and the look of each number. What is out of use looks so whosever it is.
export function looksOf(fleet, by, palette) {
  const isOwned = by === "project" || by === "division";
  const looks = [];
  const made = new Map();
  const of = new Uint16Array(fleet.count);
  for (let index = 0; index < fleet.count; index += 1) {
    const kind = fleet.kind(index);
    const isOut = isOwned && OUT.has(kind);
    const key = isOut ? kind : KEY_OF[by](fleet, index);
    const name = isOut ? ` ${kind}` : key; // no slug begins with a blank
    let number = made.get(name);
    if (number === undefined) {
      number = looks.length;
      made.set(name, number);
      looks.push(isOut ? lookOf("state", kind, palette) : lookOf(by, key, palette, fleet.names[fleet.whose(index)]?.swatch));
    }
    of[index] = number;
  }
  return { of, looks };
}
