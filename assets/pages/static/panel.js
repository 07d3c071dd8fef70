// A signal panel: its value and, below it, the coverage behind it.
import { root, element, table, setStatus } from "./site.js";
import { axis, chart, colour, colours, compact, seconds } from "./chart.js";

const form = document.getElementById("panel");
const MAX_SERIES = 6;
let charts = [];

function label(series) {
  const value = series.dimension === "all" ? series.measure : series.dimension_value;
  return series.currency ? `${value} (${series.currency})` : value;
}

function selected(allSeries) {
  const { measure, dimension } = form.elements;
  return allSeries.filter((series) => series.measure === measure.value && series.dimension === dimension.value).slice(0, MAX_SERIES);
}

function aligned(shown, member) {
  const months = [...new Set(shown.flatMap((series) => series.month))].sort();
  const position = new Map(months.map((month, index) => [month, index]));
  const columns = shown.map((series) => {
    const column = Array(months.length).fill(null);
    series.month.forEach((month, index) => { column[position.get(month)] = series[member][index]; });
    return column;
  });
  return [months.map(seconds), ...columns];
}

function options(shown, percent) {
  const lines = shown.map((series, index) => ({
    label: label(series), stroke: colours()[index], width: 2, spanGaps: false, points: { size: 4, show: true },
  }));
  const values = (_, ticks) => ticks.map((tick) => (percent ? `${Math.round(tick * 100)} %` : compact(tick)));
  return {
    series: [{}, ...lines],
    axes: [axis(), axis({ values, size: 64 })],
    scales: percent ? { y: { range: [0, 1] } } : {},
  };
}

function legend(shown) {
  const list = element("ul", null, { className: "keys" });
  shown.forEach((series, index) => {
    const item = element("li"), swatch = element("span", null, { className: "swatch" });
    swatch.style.background = colours()[index] || colour("dim");
    item.append(swatch, label(series));
    list.append(item);
  });
  return list;
}

async function draw() {
  const { country, measure } = form.elements;
  const body = await (await fetch(`${root}data/signals/${form.dataset.panel}/${country.value}.json`)).json();
  const dimensions = new Set(body.series.filter((series) => series.measure === measure.value).map((series) => series.dimension));
  for (const option of form.elements.dimension.options) option.disabled = !dimensions.has(option.value);
  if (!dimensions.has(form.elements.dimension.value)) form.elements.dimension.value = [...dimensions][0] ?? "all";
  const shown = selected(body.series), values = document.getElementById("value");
  charts.forEach((drawn) => drawn.remove());
  document.querySelector(".keys")?.remove();
  values.before(legend(shown));
  const unit = shown[0]?.unit ?? "";
  document.getElementById("value-caption").textContent = `${measure.value}${unit ? `, ${unit}` : ""}`;
  charts = [
    chart(values, () => options(shown, false), () => aligned(shown, "value")),
    chart(document.getElementById("coverage-plot"), () => options(shown, true), () => aligned(shown, "coverage")),
  ];
  table(document.getElementById("values"), ["month", "series", "value", "coverage", "observed", "in scope"],
    shown.flatMap((series) => series.month.map((month, index) => [
      month.slice(0, 7), label(series), series.value[index], series.coverage[index], series.observed[index], series.eligible[index],
    ].map((cell) => (cell === null ? null : String(cell))))));
  const months = new Set(shown.flatMap((series) => series.month.filter((_, index) => series.value[index] !== null))).size;
  const name = country.selectedOptions[0].text;
  setStatus(months ? `${months} ${months === 1 ? "month" : "months"}, ${name}`
    : `No values for ${name}: its portal does not state what this measure needs.`);
}

if (form) {
  const redraw = () => draw().catch((error) => setStatus(String(error.message), true));
  form.addEventListener("change", redraw);
  form.addEventListener("submit", (event) => event.preventDefault());
  redraw();
}
