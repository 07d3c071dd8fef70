// How many measurements passed, failed and were not made, publication by publication.
import { root, element } from "./site.js";
import { axis, chart, colour } from "./chart.js";

const STATUSES = [["PASS", "pass"], ["FAIL", "fail"], ["UNMEASURED", "unmeasured"]];
const { versions, counts } = await (await fetch(`${root}data/quality.json`)).json();
const target = document.getElementById("plot");
const list = element("ul", null, { className: "keys" });
for (const [status, name] of STATUSES) {
  const item = element("li"), swatch = element("span", null, { className: "swatch" });
  swatch.style.background = `var(--${name})`;
  item.append(swatch, status);
  list.append(item);
}
target.before(list);
const last = versions.length - 1;
chart(target, () => ({
  scales: { x: { time: false, range: [-0.5, Math.max(last, 0) + 0.5] }, y: { range: (_, low, high) => [0, Math.max(high, 1) * 1.1] } },
  axes: [
    axis({ splits: () => versions.map((_, index) => index).filter((index) => (last - index) % Math.ceil((last + 1) / 6) === 0), values: (_, ticks) => ticks.map((tick) => versions[tick] ?? "") }),
    axis({ size: 40 }),
  ],
  series: [{}, ...STATUSES.map(([status, name]) => ({ label: status, stroke: colour(name), width: 2, points: { show: true, size: 7, fill: colour(name) } }))],
}), () => [versions.map((_, index) => index), ...STATUSES.map(([status]) => counts[status])]);
