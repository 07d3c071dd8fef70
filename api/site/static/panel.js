// A signal panel: its value, the number of processes behind it, and the coverage.
import { root, table, setStatus } from "./site.js";
import { makeChart, forPeople } from "./charts.js";

const form = document.getElementById("panel");
const MAX_SERIES = 8;
const SOURCE = document.querySelector("#value .source").textContent;
const EVERY = "";
let charts = null;
const files = new Map();

async function seriesOf(country) {
  if (!files.has(country)) files.set(country, fetch(`${root}data/signals/${form.dataset.panel}/${country}.json`).then((response) => response.json()));
  return (await files.get(country)).series.map((series) => ({ ...series, country }));
}

const names = new Map([...form.elements.country.options].map((option) => [option.value, option.text]));

function label(series, several) {
  const parts = [several ? names.get(series.country) : null, series.dimension === "all" ? null : series.legal_name ?? series.dimension_value, series.currency];
  return parts.filter(Boolean).join(", ") || names.get(series.country);
}

const isShare = (unit) => ["share", "ratio", "percent"].includes(unit);

function points(series, member) {
  return series.month.map((month, index) => [month, series[member][index] === null ? null : String(series[member][index]), `n = ${series.observed[index]} of ${series.eligible[index]}`]);
}

async function draw() {
  const { country, measure, dimension } = form.elements;
  const wanted = country.value === EVERY ? [...names.keys()].filter((code) => code !== EVERY) : [country.value];
  const all = (await Promise.all(wanted.map(seriesOf))).flat().filter((series) => series.measure === measure.value);
  const dimensions = new Set(all.map((series) => series.dimension));
  for (const option of dimension.options) option.disabled = !dimensions.has(option.value) || (wanted.length > 1 && option.value !== "all");
  if (dimension.selectedOptions[0]?.disabled) dimension.value = dimensions.has("all") ? "all" : [...dimensions][0] ?? "all";
  const candidates = all.filter((series) => series.dimension === dimension.value);
  const unit = candidates[0]?.unit ?? "", share = isShare(unit), several = wanted.length > 1;
  // The same values of every country: a line left out here and not there would compare nothing.
  const values = [...new Set(candidates.map((series) => series.dimension_value))];
  const kept = values.slice(0, Math.max(1, Math.floor(MAX_SERIES / wanted.length)));
  const shown = candidates.filter((series) => kept.includes(series.dimension_value)).slice(0, MAX_SERIES);
  const text = measure.selectedOptions[0].text, place = several ? "" : `, ${names.get(country.value)}`;
  const spec = (title, member, percent) => ({
    title: `${title}${place}`, unit: percent ? "percent" : unit, source: SOURCE, kind: "line", x: "month",
    percent, zero: true, series: shown.map((series) => ({ name: label(series, several), points: points(series, member) })),
  });
  const specs = [spec(text, "value", share), spec("Coverage: processes that state what the measure needs", "coverage", true)];
  if (charts) charts.forEach((chart, index) => chart.update(specs[index]));
  else charts = ["value", "coverage-plot"].map((id, index) => makeChart(document.getElementById(id), specs[index]));
  table(document.getElementById("values"), ["month", "series", "value", "coverage", "observed", "in scope"],
    shown.flatMap((series) => series.month.map((month, index) => [
      month.slice(0, 7), label(series, several), forPeople(series.value[index], share), forPeople(series.coverage[index], true), String(series.observed[index]), String(series.eligible[index]),
    ])).reverse());
  const months = new Set(shown.flatMap((series) => series.month.filter((_, index) => series.value[index] !== null))).size;
  const part = shown.length < candidates.length ? `, ${shown.length} of ${candidates.length} lines; the files have all` : "";
  setStatus(months ? `${months} ${months === 1 ? "month" : "months"}${place}${part}` : `No values${place}: the portal does not state what this measure needs.`);
}

function keepView() {
  const view = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", `${location.pathname}?${view}${location.hash}`);
}

for (const [name, value] of new URLSearchParams(location.search)) {
  if (form.elements[name] && [...form.elements[name].options].some((option) => option.value === value)) form.elements[name].value = value;
}
const redraw = () => draw().catch((error) => setStatus(String(error.message), true));
form.addEventListener("change", () => { keepView(); redraw(); });
form.addEventListener("submit", (event) => event.preventDefault());
redraw();
