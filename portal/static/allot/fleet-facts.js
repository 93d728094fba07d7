// What the map knows of every GPU, in columns: taken whole from tiles.json, then only what changed.

const NONE = -1; // of use and power: not known
const LATE_MS = 20_000; // an answer that takes longer has missed its turn

export class Fleet {
  constructor(address) {
    this.address = address;
    this.version = "";
    this.count = 0;
    this.skewMs = 0; // the portal's clock less ours
  }

  // What came is in; "whole", "part", or "" where nothing changed or nobody answered.
  async load() {
    const query = this.version ? `?since=${encodeURIComponent(this.version)}` : "";
    let answer;
    try {
      answer = await fetch(this.address + query, { headers: { Accept: "application/json" }, cache: "no-cache", signal: AbortSignal.timeout(LATE_MS) });
    } catch {
      return ""; // no network: the page's sign says so, and what is shown stays with its age
    }
    if (answer.status !== 200) return "";
    this.skewMs = Date.parse(answer.headers.get("Date")) - Date.now() || 0;
    const told = await answer.json();
    told.gpu.forEach((gap, row) => { told.gpu[row] = gap + (row ? told.gpu[row - 1] : 0); });
    if (told.nodes) this.replace(told);
    else this.merge(told);
    this.version = told.version;
    return told.nodes ? "whole" : "part";
  }

  now() {
    return (Date.now() + this.skewMs) / 1000;
  }

  replace(told) {
    const count = told.gpu.length;
    Object.assign(this, { count, kinds: told.kinds, staleS: told.stale_s, nodes: told.nodes, gpu: told.gpu, names: [] });
    this.numberOf = new Map();
    this.indexOf = new Map(told.gpu.map((key, index) => [key, index]));
    this.doing = new Uint8Array(count);
    this.holder = new Int32Array(count);
    this.assigned = new Int32Array(count);
    this.use = new Int16Array(count);
    this.power = new Int32Array(count);
    this.since = new Float64Array(count);
    this.read = new Float64Array(count);
    this.nodeOf = new Int32Array(count);
    this.firstOf = [];
    let first = 0;
    told.nodes.gpus.forEach((gpus, node) => {
      this.firstOf.push(first);
      this.nodeOf.fill(node, first, first + gpus);
      first += gpus;
    });
    this.write(told, (row) => row);
  }

  merge(told) {
    this.write(told, (row) => this.indexOf.get(told.gpu[row]));
  }

  write(told, placeOf) {
    const numbers = told.names.map((name, number) => this.number(name, told.projects[number]));
    const named = (number) => (number < 0 ? number : numbers[number]);
    for (let row = 0; row < told.gpu.length; row += 1) {
      const index = placeOf(row);
      this.doing[index] = told.doing[row];
      this.holder[index] = named(told.holder[row]);
      this.assigned[index] = named(told.assigned[row]);
      this.use[index] = told.use[row] ?? NONE;
      this.power[index] = told.power[row] ?? NONE;
      this.since[index] = told.since[row] === null ? NaN : told.now - told.since[row] * 60;
      this.read[index] = told.read[row] === null ? NaN : told.now - told.read[row];
    }
  }

  // A project, or what a node names and nobody here knows. A name that was told again is replaced.
  number(slug, project) {
    const [name, division, divisionName, swatch] = project || [slug, "", "", NONE];
    const number = this.numberOf.get(slug) ?? this.names.length;
    this.numberOf.set(slug, number);
    this.names[number] = { slug, name, division, divisionName, swatch };
    return number;
  }

  // Who has it, or shall have it where nobody has; a negative number for nobody.
  whose(index) {
    return this.holder[index] >= 0 ? this.holder[index] : this.assigned[index];
  }

  kind(index) {
    return this.kinds[this.doing[index]];
  }

  isFresh(index) {
    return this.now() - this.read[index] <= this.staleS;
  }

  nodeFacts(node) {
    const { name, site, sites, island, islands, model, models } = this.nodes;
    return { name: name[node], site: sites[site[node]], island: islands[island[node]], model: models[model[node]] };
  }

  slot(index) {
    const node = this.nodeOf[index];
    return this.nodes.slots[this.nodes.slot[node]].split(" ")[index - this.firstOf[node]] || "";
  }
}
