// A signal panel: one measure of one country among the others, the number of processes behind it,
// the coverage, and what it says in a sentence.
/* global d3 */
import { root, table, setStatus } from "./site.js";
import { makeChart, forPeople } from "./charts.js";

const form = document.getElementById("panel");
const MAX_SERIES = 8, ENOUGH = 10;
const SOURCE = document.querySelector("#value .source").textContent;
const EVERY = "";
let charts = null;
const files = new Map();

async function seriesOf(country) {
  if (!files.has(country)) files.set(country, fetch(`${root}data/signals/${form.dataset.panel}/${country}.json`).then((response) => response.json()));
  return (await files.get(country)).map((series) => ({ ...series, country }));
}

const names = new Map([...form.elements.country.options].map((option) => [option.value, option.text]));

function label(series, several) {
  const parts = [several ? names.get(series.country) : null, series.dimension === "all" ? null : series.legal_name ?? series.dimension_value, series.currency];
  return parts.filter(Boolean).join(", ") || names.get(series.country);
}

const isShare = (unit) => ["share", "ratio", "percent"].includes(unit);

const byMonth = (series) => new Map(series.month.map((month, index) => [month, { value: series.value[index], n: series.observed[index] }]));

// What the newest value of the chosen country says, next to the other countries and the year before.
function finding(chosen, others, measure, share) {
  const known = byMonth(chosen), stated = chosen.month.filter((each) => known.get(each).value !== null);
  // A value of few processes is no finding, unless there are never more.
  const month = stated.findLast((each) => known.get(each).n >= ENOUGH) ?? stated.at(-1);
  if (!month) return "";
  const { value, n } = known.get(month), before = known.get(`${Number(month.slice(0, 4)) - 1}${month.slice(4)}`)?.value ?? null;
  const compared = others.map((each) => byMonth(each).get(month)?.value ?? null).filter((each) => each !== null);
  const parts = [`${names.get(chosen.country)}: ${measure[0].toLowerCase()}${measure.slice(1)} was ${forPeople(value, share)} in ${month.slice(0, 7)}, from ${n.toLocaleString("en")} process${n === 1 ? "" : "es"}.`];
  if (compared.length > 1) {
    const median = d3.median(compared), gap = share ? `${(100 * Math.abs(value - median)).toFixed(1)} points` : forPeople(Math.abs(value - median), false);
    parts.push(value === median ? `That is the median of ${compared.length} other countries.` : `That is ${gap} ${value > median ? "above" : "below"} the median of ${compared.length} other countries (${forPeople(median, share)}).`);
  }
  if (before !== null) parts.push(before === value ? "It was the same a year before." : `A year before it was ${forPeople(before, share)}.`);
  return parts.join(" ");
}

function points(series, member) {
  return series.month.map((month, index) => [month, series[member][index] === null ? null : String(series[member][index]), `n = ${series.observed[index]} of ${series.eligible[index]}`]);
}

async function draw() {
  const { country, measure, dimension } = form.elements;
  // Other countries are the background of the chosen one, where both are of all processes.
  const every = [...names.keys()].filter((code) => code !== EVERY), one = country.value !== EVERY;
  const wanted = one && dimension.value !== "all" ? [country.value] : every;
  const all = (await Promise.all(wanted.map(seriesOf))).flat().filter((series) => series.measure === measure.value);
  const dimensions = new Set(all.map((series) => series.dimension));
  for (const option of dimension.options) option.disabled = !dimensions.has(option.value) || (!one && option.value !== "all");
  if (dimension.selectedOptions[0]?.disabled) dimension.value = dimensions.has("all") ? "all" : [...dimensions][0] ?? "all";
  const matching = all.filter((series) => series.dimension === dimension.value && (dimension.value === "all" || !one || series.country === country.value));
  // A line without a value would be a label alone.
  const candidates = matching.filter((series) => series.value.some((value) => value !== null));
  const unit = candidates[0]?.unit ?? "", share = isShare(unit), several = wanted.length > 1;
  // The same values of every country: a line left out here and not there would compare nothing.
  const values = [...new Set(candidates.map((series) => series.dimension_value))];
  const kept = values.slice(0, Math.max(1, Math.floor(MAX_SERIES / wanted.length)));
  const isChosen = (series) => one && several && series.country === country.value;
  const shown = candidates.filter((series) => kept.includes(series.dimension_value)).toSorted((first, second) => isChosen(second) - isChosen(first)).slice(0, MAX_SERIES);
  const tone = (series) => (one && several ? (isChosen(series) ? "now" : "muted") : undefined);
  const text = measure.selectedOptions[0].text, place = one ? `, ${names.get(country.value)}` : "";
  const chosen = shown.filter(isChosen);
  document.getElementById("finding").textContent = chosen.length === 1 ? finding(chosen[0], shown.filter((series) => tone(series) === "muted"), text, share) : "";
  const spec = (title, member, percent) => ({
    title: `${title}${place}`, unit: percent ? "percent" : unit, source: SOURCE, kind: "line", x: "month",
    percent, zero: true, series: shown.map((series) => ({ name: label(series, several), tone: tone(series), points: points(series, member) })),
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
  const silent = matching.length - candidates.length, others = silent ? `, ${silent} more ${silent === 1 ? "line has" : "lines have"} no value` : "";
  setStatus(months ? `${months} ${months === 1 ? "month" : "months"}${place}${part}${others}` : `No values${place}: the portal does not state what this measure needs.`);
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
