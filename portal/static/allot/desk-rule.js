// The desk's rule in the browser: the same as allocations/desk/judge.py, held against it by a test.
(() => {
  // asks: [{key, first, last, gpus}] in rank order; taken: Map key -> GPUs, the highest rank first
  function judge(room, asks, taken) {
    const byKey = new Map(asks.map((ask) => [ask.key, ask]));
    const left = room.slice();
    const kept = room.slice();
    const standing = new Map();
    for (const [key, gpus] of taken) {
      const ask = byKey.get(key);
      const { low, at } = tightest(kept, ask);
      standing.set(key, { ask, gpus, low, at, held: low >= gpus });
      for (let stretch = ask.first; stretch < ask.last; stretch += 1) {
        left[stretch] -= gpus;
        if (low >= gpus) kept[stretch] -= gpus;
      }
    }
    for (const ask of asks) {
      if (!standing.has(ask.key)) standing.set(ask.key, { ask, gpus: ask.gpus, held: false, ...tightest(kept, ask) });
    }
    const ordered = asks.map((ask) => standing.get(ask.key));
    const displaced = displacements(ordered, lows(kept));
    const findings = new Map(ordered.map((each, place) => [each.ask.key, {
      fits: each.low >= each.gpus,
      short: Math.max(0, each.gpus - each.low),
      free: each.low,
      at: each.at,
      displaces: displaced[place],
    }]));
    return { left, findings };
  }

  function tightest(room, ask) {
    let at = ask.first;
    for (let stretch = ask.first + 1; stretch < ask.last; stretch += 1) if (room[stretch] < room[at]) at = stretch;
    return { low: room[at], at };
  }

  // the smallest number of any run of stretches, in constant time
  function lows(numbers) {
    const levels = [numbers];
    for (let width = 1; 2 * width <= numbers.length; width *= 2) {
      const last = levels[levels.length - 1];
      levels.push(last.slice(width).map((each, place) => Math.min(last[place], each)));
    }
    return (first, last) => {
      if (first >= last) return Infinity;
      const level = 31 - Math.clz32(last - first);
      return Math.min(levels[level][first], levels[level][last - (1 << level)]);
    };
  }

  function displacements(ordered, low) {
    const displaced = ordered.map(() => []);
    const fitting = [];
    const held = [];
    const out = [];
    ordered.forEach((each, place) => {
      if (each.held) held.push([place, each]);
      else if (each.low >= each.gpus) fitting.push([place, each]);
      else out.push([place, each, low(each.ask.first, each.ask.last)]);
    });
    fitting.forEach(([place, one], index) => {
      for (const [otherPlace, other] of fitting.slice(index + 1)) {
        const both = one.gpus + other.gpus;
        if (one.low >= both || other.low >= both) continue;
        if (low(Math.max(one.ask.first, other.ask.first), Math.min(one.ask.last, other.ask.last)) < both) {
          displaced[place].push(otherPlace);
          displaced[otherPlace].push(place);
        }
      }
    });
    for (const [place, one] of held) {
      for (const [otherPlace, other, lowest] of out) {
        const first = Math.max(one.ask.first, other.ask.first);
        const last = Math.min(one.ask.last, other.ask.last);
        if (first >= last || lowest >= other.gpus) continue;
        const without = Math.min(low(other.ask.first, first), low(first, last) + one.gpus, low(last, other.ask.last));
        if (without >= other.gpus) displaced[place].push(otherPlace);
      }
    }
    return displaced.map((places) => places.sort((a, b) => a - b).map((place) => ordered[place].ask.key));
  }

  window.allotDesk = { judge };
})();
