// What of the fleet is shown: the same filters, by the same names in the address, as the table has.

import { FILTER_OF, KEY_OF, NOBODY, UNKNOWN } from "./fleet-looks.js";

const NAMES = ["q", "model", "site", "island", "node", "doing", "project", "division", "use", "age"];
const LISTS = new Map(Object.entries(FILTER_OF).map(([by, name]) => [name, by])); // these may name several

export class Filter {
  constructor(query) {
    this.values = Object.fromEntries(NAMES.map((name) => [name, query.get(name) || ""]));
  }

  set(name, value) {
    this.values[name] = value;
  }

  only(name) {
    return new Set(this.values[name].split(",").filter(Boolean));
  }

  toggle(name, key) {
    const keys = this.only(name);
    if (!keys.delete(key)) keys.add(key);
    this.values[name] = [...keys].join(",");
  }

  get isOn() {
    return NAMES.some((name) => this.values[name]);
  }

  write(query) {
    for (const name of NAMES) {
      if (this.values[name]) query.set(name, this.values[name]);
      else query.delete(name);
    }
  }

  // Of every card whether it passes, and whether it passes all but what the map is coloured by.
  apply(fleet, by) {
    const tests = NAMES.filter((name) => this.values[name]).map((name) => [name, this.test(fleet, name)]);
    const own = FILTER_OF[by];
    const passes = new Uint8Array(fleet.count).fill(1);
    const passesOthers = new Uint8Array(fleet.count).fill(1);
    for (const [name, test] of tests) {
      for (let index = 0; index < fleet.count; index += 1) {
        if (test(index)) continue;
        passes[index] = 0;
        if (name !== own) passesOthers[index] = 0;
      }
    }
    return { passes, passesOthers };
  }

  test(fleet, name) {
    const value = this.values[name];
    if (name === "q") return named(fleet, value.toLowerCase());
    if (name === "project") return ofProjects(fleet, this.only(name));
    if (LISTS.has(name)) {
      const keys = this.only(name);
      return (index) => keys.has(KEY_OF[LISTS.get(name)](fleet, index));
    }
    const { nodes, nodeOf } = fleet;
    if (name === "node") return (index) => nodes.name[nodeOf[index]] === value;
    const wanted = nodes[`${name}s`].indexOf(value);
    return (index) => nodes[name][nodeOf[index]] === wanted;
  }
}

// Holds it or shall hold it.
function ofProjects(fleet, slugs) {
  const numbers = new Set([...slugs].map((slug) => fleet.numberOf.get(slug) ?? UNKNOWN));
  const nobodys = slugs.has(NOBODY);
  return (index) => numbers.has(fleet.holder[index]) || numbers.has(fleet.assigned[index]) || (nobodys && fleet.whose(index) < 0);
}

function named(fleet, text) {
  const has = (...words) => words.some((word) => word.toLowerCase().includes(text));
  const nodes = fleet.nodes.name.map((_name, node) => {
    const { name, site, island, model } = fleet.nodeFacts(node);
    return has(name, site, island, model);
  });
  const projects = fleet.names.map(({ slug, name }) => has(slug, name));
  return (index) => nodes[fleet.nodeOf[index]] || projects[fleet.holder[index]] === true || projects[fleet.assigned[index]] === true;
}
