// Use and power of a GPU as lines; a time of which nothing is known is a gap. The table beside says the same.

const HEIGHT = 150;
const LEAST_WIDTH = 260;
const SYNC = "gpu"; // the charts of a span share their cursor

const uPlot = window.uPlot;

// A span that is known between two gaps is a point, since it makes no line.
const alone = (plot, series) => plot.data[series].flatMap((value, at, all) => (value !== null && (all[at - 1] ?? null) === null && (all[at + 1] ?? null) === null ? [at] : []));

function optionsOf(figure, room, kind) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const words = figure.dataset;
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  const isDay = figure.dataset.span === "day";
  const ticks = new Intl.DateTimeFormat(document.documentElement.lang, isDay ? { hour: "2-digit", minute: "2-digit", hour12: false } : { day: "numeric", month: "short" });
  const line = (label, name, rest = {}) => ({ label, stroke: colour(name), width: 1.5, spanGaps: false, points: { show: () => false, filter: alone, size: 4 }, ...rest });
  const times = { label: words.time, value: (_plot, at) => (at === null ? "–" : new Date(at * 1000).toLocaleString(document.documentElement.lang)) };
  const shown = (unit) => (_plot, value) => (value === null || value === undefined ? "–" : `${Math.round(value)} ${unit}`);
  const series = kind === "power"
    ? [times, line(words.power, "--applied-fill", { value: shown("W") })]
    : [times, line(words.peak, "--faint", { width: 1, value: shown("%") }), line(words.use, "--accent", { value: shown("%") })];
  return {
    width: Math.max(LEAST_WIDTH, room.clientWidth),
    height: HEIGHT,
    cursor: { sync: { key: `${SYNC}-${figure.dataset.number}` }, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: kind === "power" ? { range: (_plot, _least, most) => [0, Math.max(50, (most || 0) * 1.08)] } : { range: [0, 100] } },
    axes: [{ ...axis, size: 32, space: 64, values: (_plot, at) => at.map((one) => ticks.format(one * 1000)) }, { ...axis, size: 52, space: 24 }],
    series,
  };
}

function draw(figure) {
  const room = figure.querySelector("[data-chart-room]");
  const told = JSON.parse(figure.dataset.chart);
  for (const chart of figure.charts || []) chart.destroy();
  figure.charts = [
    new uPlot(optionsOf(figure, room, "use"), [told.at, told.peak, told.use], room),
    new uPlot(optionsOf(figure, room, "power"), [told.at, told.power], room),
  ];
}

const figures = [...document.querySelectorAll("[data-chart]")];
figures.forEach((figure, number) => {
  figure.dataset.number = number;
  draw(figure);
  new ResizeObserver(([entry]) => {
    const width = Math.max(LEAST_WIDTH, Math.floor(entry.contentRect.width));
    for (const chart of figure.charts) if (chart.width !== width) chart.setSize({ width, height: HEIGHT });
  }).observe(figure.querySelector("[data-chart-room]"));
});
new MutationObserver(() => figures.forEach(draw)).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
