// The part of the plan that is in sight: its corner in units of the plan, and how many pixels a unit is.

import { LARGEST } from "./fleet-layout.js";

const AROUND = 1.08; // a box that fills the view has some air around it
const STILL = 1.001; // closer to the whole fleet than that is the whole fleet

export class Camera {
  constructor() {
    Object.assign(this, { x: 0, y: 0, k: 1 });
  }

  // A new plan or size of the view: who saw the whole fleet sees it again.
  frame(plan, width, height) {
    const wasWhole = !this.plan || this.isWhole;
    const middle = wasWhole ? null : { x: (this.x + this.width / 2 / this.k) / this.plan.width, y: (this.y + this.height / 2 / this.k) / this.plan.height };
    const cell = this.plan ? this.plan.step * this.k : 0;
    Object.assign(this, { plan, width, height, least: Math.min(1, height / plan.height) });
    if (wasWhole) return this.whole();
    this.k = this.bounded(cell / plan.step);
    return this.look(middle.x * plan.width, middle.y * plan.height);
  }

  get isWhole() {
    return this.k <= this.least * STILL;
  }

  get cell() {
    return this.plan.step * this.k;
  }

  bounded(k) {
    return Math.min(Math.max(this.least, LARGEST / this.plan.step), Math.max(this.least, k));
  }

  whole() {
    this.k = this.least;
    this.move(0, 0);
  }

  // The point is in the middle, as far as the fleet reaches.
  look(x, y) {
    this.x = x - this.width / 2 / this.k;
    this.y = y - this.height / 2 / this.k;
    this.move(0, 0);
  }

  move(dx, dy) {
    const kept = (at, all, seen) => (seen >= all ? 0 : Math.min(Math.max(at, 0), all - seen));
    this.x = kept(this.x + dx / this.k, this.plan.width, this.width / this.k);
    this.y = kept(this.y + dy / this.k, this.plan.height, this.height / this.k);
  }

  // What lies under the pixel stays there.
  zoom(factor, left = this.width / 2, top = this.height / 2) {
    const x = this.x + left / this.k;
    const y = this.y + top / this.k;
    this.k = this.bounded(this.k * factor);
    this.x = x - left / this.k;
    this.y = y - top / this.k;
    this.move(0, 0);
  }

  // The box fills the view.
  show(box) {
    this.k = this.bounded(Math.min(this.width / (box.width * AROUND + 8), this.height / (box.height * AROUND + 8)));
    this.look(box.x + box.width / 2, box.y + box.height / 2);
  }

  // The box is in sight; no more than that is moved.
  reach(box, margin = 24) {
    const out = (at, size, from, seen) => (at < from ? at - from : at + size > from + seen ? Math.min(at - from, at + size - from - seen) : 0);
    const air = margin / this.k;
    const dx = out(box.x - air, box.width + 2 * air, this.x, this.width / this.k);
    const dy = out(box.y - air, box.height + 2 * air, this.y, this.height / this.k);
    this.move(dx * this.k, dy * this.k);
  }

  onScreen(box) {
    return { x: (box.x - this.x) * this.k, y: (box.y - this.y) * this.k, width: box.width * this.k, height: box.height * this.k };
  }
}
