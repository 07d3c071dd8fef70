// A signal panel: its value and, below it, how much of what is in scope it was made from.
import { root, element, table, say } from "./site.js";
import { axis, chart, colour, colours, compact, seconds } from "./chart.js";

const form = document.getElementById("panel");
const SHOWN = 6;
let charts = [];

function named(series) {
  const value = series.dimension === "all" ? series.measure : series.dimension_value;
  return series.currency ? `${value} (${series.currency})` : value;
}

function chosen(series) {
  const { measure, dimension } = form.elements;
  return series.filter((each) => each.measure === measure.value && each.dimension === dimension.value).slice(0, SHOWN);
}

function aligned(shown, member) {
  const months = [...new Set(shown.flatMap((each) => each.month))].sort();
  const place = new Map(months.map((month, index) => [month, index]));
  const columns = shown.map((each) => {
    const column = Array(months.length).fill(null);
    each.month.forEach((month, index) => { column[place.get(month)] = each[member][index]; });
    return column;
  });
  return [months.map(seconds), ...columns];
}

function options(shown, percent) {
  const lines = shown.map((each, index) => ({
    label: named(each), stroke: colours()[index], width: 2, spanGaps: false, points: { size: 4, show: true },
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
  shown.forEach((each, index) => {
    const item = element("li"), swatch = element("span", null, { className: "swatch" });
    swatch.style.background = colours()[index] || colour("dim");
    item.append(swatch, named(each));
    list.append(item);
  });
  return list;
}

async function draw() {
  const { country, measure } = form.elements;
  const body = await (await fetch(`${root}data/signals/${form.dataset.panel}/${country.value}.json`)).json();
  const known = new Set(body.series.filter((each) => each.measure === measure.value).map((each) => each.dimension));
  for (const option of form.elements.dimension.options) option.disabled = !known.has(option.value);
  if (!known.has(form.elements.dimension.value)) form.elements.dimension.value = [...known][0] ?? "all";
  const shown = chosen(body.series), values = document.getElementById("value");
  charts.forEach((each) => each.remove());
  document.querySelector(".keys")?.remove();
  values.before(legend(shown));
  const unit = shown[0]?.unit ?? "";
  document.getElementById("value-caption").textContent = `${measure.value}${unit ? `, ${unit}` : ""}`;
  charts = [
    chart(values, () => options(shown, false), () => aligned(shown, "value")),
    chart(document.getElementById("coverage-plot"), () => options(shown, true), () => aligned(shown, "coverage")),
  ];
  table(document.getElementById("values"), ["month", "of", "value", "coverage", "observed", "in scope"],
    shown.flatMap((each) => each.month.map((month, index) => [
      month.slice(0, 7), named(each), each.value[index], each.coverage[index], each.observed[index], each.eligible[index],
    ].map((cell) => (cell === null ? null : String(cell))))));
  const seen = shown.flatMap((each) => each.value).filter((value) => value !== null).length;
  say(seen ? `${seen} values of ${country.selectedOptions[0].text}.`
    : `Nothing of it was observed in ${country.selectedOptions[0].text}: its portal does not state what the measure needs.`);
}

if (form) {
  const again = () => draw().catch((error) => say(String(error.message), true));
  form.addEventListener("change", again);
  form.addEventListener("submit", (event) => event.preventDefault());
  again();
}
