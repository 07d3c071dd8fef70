// Charts in the colours of the page, redrawn when its width or its colours change.
/* global uPlot */

const dark = matchMedia("(prefers-color-scheme: dark)");

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const colours = () => ["c1", "c2", "c3", "c4", "c5", "c6"].map(colour);

export const seconds = (day) => Date.parse(`${day}T00:00:00Z`) / 1000;

export function axis(options) {
  return {
    stroke: colour("dim"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    font: "12px system-ui, sans-serif",
    ...options,
  };
}

export function compact(value) {
  return Math.abs(value) >= 1e4
    ? new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(value)
    : String(Math.round(value * 1e4) / 1e4);
}

// `options` and `data` are functions: colours and widths are read again for each drawing.
export function chart(target, options, data) {
  let plot = null;
  function draw() {
    plot?.destroy();
    const { clientWidth: width, clientHeight: height } = target;
    plot = new uPlot({
      width, height,
      legend: { show: false },
      cursor: { drag: { x: false, y: false } },
      tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "UTC"),
      ...options(),
    }, data(), target);
    target.dataset.drawn = String(Date.now());
  }
  draw();
  let width = target.clientWidth;
  const watch = new ResizeObserver(() => {
    if (target.clientWidth === width) return;
    width = target.clientWidth;
    plot.setSize({ width, height: target.clientHeight });
  });
  watch.observe(target);
  dark.addEventListener("change", draw);
  return {
    draw,
    remove() { watch.disconnect(); dark.removeEventListener("change", draw); plot.destroy(); },
  };
}
