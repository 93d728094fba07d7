// Pointer, wheel and fingers on the map: what they ask of the camera, and what they point at.

const WHEEL = 0.0016; // of a pixel that a wheel turned
const CLICK_PX = 5; // a hand that shakes less than that has clicked

// `asks`: hover(x, y) or hover(null), press(x, y), drag(dx, dy), zoom(factor, x, y); true from zoom if it did something.
export function listen(canvas, asks) {
  const down = new Map();
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => {
    const [one, other] = [...down.values()];
    return { size: Math.hypot(one.x - other.x, one.y - other.y), x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    down.set(event.pointerId, at(event));
    moved = down.size > 1 ? Infinity : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = at(event);
    const before = down.get(event.pointerId);
    if (!before) {
      asks.hover(point.x, point.y);
      return;
    }
    if (down.size === 2) {
      const was = spread();
      down.set(event.pointerId, point);
      const is = spread();
      if (was.size) asks.zoom(is.size / was.size, is.x, is.y);
      asks.drag(was.x - is.x, was.y - is.y);
      return;
    }
    moved += Math.hypot(point.x - before.x, point.y - before.y);
    down.set(event.pointerId, point);
    if (moved <= CLICK_PX) return;
    if (!canvas.hasPointerCapture(event.pointerId)) canvas.setPointerCapture(event.pointerId);
    asks.drag(before.x - point.x, before.y - point.y);
  });
  const lift = (event) => {
    const was = down.delete(event.pointerId);
    if (event.type === "pointerup" && was && !down.size && moved <= CLICK_PX) asks.press(at(event).x, at(event).y);
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => { if (!down.size) asks.hover(null); });
  canvas.addEventListener("wheel", (event) => {
    const { x, y } = at(event);
    const pixels = event.deltaY * (event.deltaMode ? 16 : 1);
    // At the whole fleet a wheel that turns away goes on with the page.
    if (asks.zoom(Math.exp(-pixels * WHEEL * (event.ctrlKey ? 6 : 1)), x, y) || event.ctrlKey) event.preventDefault();
  }, { passive: false });
}
