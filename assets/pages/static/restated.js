// The plot of vintages: one stepped line per figure, all drawn in one pass.
import { axis, chart, colour, colours, compact, seconds } from "./chart.js";

const YEAR = 31557600;

function span(figures, until) {
  const days = figures.flatMap((vintages) => vintages.map((row) => seconds(row.available_at)));
  const first = Math.min(...days), last = Math.max(...days, seconds(until));
  return [first - 0.03 * (last - first) - 1, last + 0.01 * (last - first) + YEAR / 50];
}

function bounds(figures) {
  let low = Infinity, high = -Infinity;
  for (const vintages of figures) for (const row of vintages) {
    const value = Number(row.value_reported);
    if (row.value_reported === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  return [low - room, high + room];
}

function line(plot, rows, last, strong) {
  const { ctx } = plot, ratio = devicePixelRatio;
  let before = null;
  ctx.beginPath();
  for (const row of rows) {
    const x = plot.valToPos(seconds(row.available_at), "x", true);
    if (before !== null) ctx.lineTo(x, before);
    if (row.value_reported === null) { before = null; continue; }
    const y = plot.valToPos(Number(row.value_reported), "y", true);
    if (before === null) ctx.moveTo(x, y); else ctx.lineTo(x, y);
    before = y;
  }
  if (before !== null) ctx.lineTo(last, before);
  ctx.stroke();
  const size = (strong ? 3 : 2) * ratio;
  for (const row of rows) {
    if (row.value_reported === null) continue;
    const x = plot.valToPos(seconds(row.available_at), "x", true), y = plot.valToPos(Number(row.value_reported), "y", true);
    ctx.fillRect(x - size, y - size, 2 * size, 2 * size);
  }
}

function labels(plot, figures, last) {
  const { ctx } = plot, ratio = devicePixelRatio, labelled = [];
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.fillStyle = colour("ink");
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const rows of figures.toReversed()) {
    const newest = rows.at(-1);
    if (newest.value_reported === null) continue;
    const y = plot.valToPos(Number(newest.value_reported), "y", true);
    if (labelled.some((other) => Math.abs(other - y) < 13 * ratio)) continue;
    labelled.push(y);
    ctx.fillText(`${newest.period_type === "INSTANT" ? "" : `${newest.period_type} `}${newest.period_end.slice(0, 7)}`, last + 6 * ratio, y);
  }
}

function steps(figures, state) {
  return (plot) => {
    const { ctx, bbox } = plot, ratio = devicePixelRatio, shades = colours();
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const end = bbox.left + bbox.width, today = Math.min(end, plot.valToPos(seconds(state.today), "x", true));
    const asOf = plot.valToPos(seconds(state.asOf), "x", true);
    // First, faded, what was published after the chosen day; then what was public by then.
    for (const isPublic of [false, true]) {
      ctx.save();
      ctx.beginPath();
      if (isPublic) ctx.rect(bbox.left, bbox.top, asOf - bbox.left + ratio, bbox.height);
      else ctx.rect(asOf, bbox.top, end - asOf, bbox.height);
      ctx.clip();
      ctx.globalAlpha = isPublic ? 1 : 0.3;
      figures.forEach((rows, index) => {
        const restated = rows.length > 1;
        ctx.strokeStyle = ctx.fillStyle = restated ? shades[index % 5] : shades[5];
        ctx.lineWidth = (restated ? 2.2 : 1.2) * ratio;
        line(plot, rows, today, restated);
      });
      ctx.restore();
    }
    ctx.strokeStyle = colour("focus");
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    ctx.moveTo(asOf, bbox.top);
    ctx.lineTo(asOf, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
    labels(plot, figures, end);
  };
}

export function drawRestated(target, figures, state) {
  return chart(target, () => ({
    scales: { x: { range: () => span(figures, state.today) }, y: { range: () => bounds(figures) } },
    axes: [axis({ space: 40 }), axis({ values: (_, ticks) => ticks.map(compact), size: 58 })],
    series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
    padding: [8, 72, 0, 0],
    hooks: { draw: [steps(figures, state)] },
  }), () => [span(figures, state.today), bounds(figures)]);
}
