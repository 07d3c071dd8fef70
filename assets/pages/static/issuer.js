// An issuer: what was known of it on a day, and how each figure was restated.
import { ask, element, grouped, keyOf, say, table, today } from "./site.js";
import { everything, figures, ofItem } from "./vintages.js";
import { drawRestated } from "./restated.js";

const wanted = new URLSearchParams(location.search).get("id") || document.getElementById("asked").dataset.example;
const issuer = wanted.replace(/[^A-Za-z0-9]/g, "");
const form = document.getElementById("asked"), line = document.getElementById("line");
const DAY = 86400000;
const first = Date.parse(`${form.dataset.first}T00:00:00Z`) || Date.parse("2000-01-01T00:00:00Z");
const state = { today: today(), asOf: today(), all: null, item: null, shown: [], plot: null };

const periodOf = (row) => (row.period_type === "INSTANT" ? row.period_end : `${row.period_type} to ${row.period_end}`);

function source(reference) {
  if (!/^https?:\/\//.test(reference)) return reference;
  const { host, pathname } = new URL(reference);
  return element("a", `${host}/…/${pathname.split("/").at(-1)}`, { href: reference, rel: "noreferrer", title: reference });
}

function tellEntity(entity) {
  document.getElementById("name").textContent = entity.legal_name || issuer;
  document.title = `${entity.legal_name || issuer} · Sankofa`;
  const parts = [issuer, entity.country, entity.status, entity.lei && `LEI ${entity.lei}`, ...(entity.listings || []).map((each) => `${each.mic}:${each.ticker}`)];
  document.getElementById("about").textContent = parts.filter(Boolean).join(" · ");
}

function setDay(day) {
  state.asOf = day;
  form.elements.as_of.value = day;
  form.elements.days.value = String(Math.round((Date.parse(`${day}T00:00:00Z`) - first) / DAY));
  form.elements.days.setAttribute("aria-valuetext", day);
  document.getElementById("known-on").textContent = day;
}

async function showKnown() {
  const day = state.asOf, body = await ask(`/v1/fundamentals/${issuer}?as_of=${day}`, await keyOf(form));
  if (day !== state.asOf) return;
  const target = document.getElementById("facts");
  table(target, ["line item", "value", "unit", "period", "vintage", "public since", "source"],
    body.data.map((row) => [row.line_item, grouped(row.value_reported), row.unit, periodOf(row), String(row.vintage), row.available_at, source(row.source_ref)]));
  target.dataset.asOf = day;
  say(body.count ? `${body.count} figures known on ${day}${body.truncated ? ", of more: the key caps the rows" : ""}.`
    : `Nothing of this issuer was public on ${day}.`);
}

function fillPeriods(rows) {
  const kinds = [...new Set(rows.map((row) => row.period_type))].sort();
  const select = line.elements.period, held = select.value;
  select.replaceChildren(...kinds.map((kind) => new Option(kind === "INSTANT" ? "balances" : kind, kind)));
  select.value = kinds.includes(held) ? held : kinds.includes("FY") ? "FY" : kinds[0] ?? "";
}

function drawVintages() {
  const shown = figures(state.item.rows.filter((row) => row.period_type === line.elements.period.value));
  const number = shown.reduce((sum, each) => sum + each.length, 0), restated = shown.filter((each) => each.length > 1).length;
  state.plot?.remove();
  state.plot = shown.length ? drawRestated(document.getElementById("plot"), shown, state) : null;
  Object.assign(document.getElementById("plot").dataset, { vintages: String(number), item: line.elements.line_item.value });
  document.getElementById("plotted").textContent = `${number} vintages of ${shown.length} figures, ${restated} of them restated. The dashed line is the day; what came after it is faint.`
    + (state.item.whole ? "" : " There are more than the key shows.");
  state.shown = shown;
  tabulate();
  performance.mark("vintages drawn");
}

// Thousands of lines of a table take longer than the plot: they are made for who looks.
function tabulate() {
  const target = document.getElementById("vintages");
  if (!target.closest("details").open) return;
  const rows = state.shown.toReversed().flatMap((each) => each.map((row) => [periodOf(row), String(row.vintage), row.available_at, grouped(row.value_reported), row.unit]));
  table(target, ["period", "vintage", "public since", "value", "unit"], rows);
}

async function showItem() {
  const item = line.elements.line_item.value, key = await keyOf(form);
  const found = state.all.whole
    ? { rows: state.all.rows.filter((row) => row.line_item === item), whole: true }
    : await ofItem(issuer, item, key);
  if (item !== line.elements.line_item.value) return;
  state.item = found;
  fillPeriods(state.item.rows);
  drawVintages();
}

function chooseItem() {
  const most = new Map();
  for (const row of state.all.rows) most.set(row.line_item, Math.max(most.get(row.line_item) || 0, row.vintage));
  const [name] = [...most].sort((one, two) => two[1] - one[1] || (two[0] === "revenue") - (one[0] === "revenue"))[0] || [];
  if (name) line.elements.line_item.value = name;
}

async function begin() {
  const key = await keyOf(form);
  form.elements.days.max = String(Math.round((Date.parse(`${state.today}T00:00:00Z`) - first) / DAY));
  form.elements.as_of.max = state.today;
  setDay(new URLSearchParams(location.search).get("as_of") || state.today);
  const [entity, all] = await Promise.all([ask(`/v1/entities/${issuer}`, key).catch(() => ({})), everything(issuer, key), showKnown()]);
  tellEntity(entity.data?.[0] ?? entity);
  state.all = all;
  chooseItem();
  await showItem();
}

const tell = (error) => say(error.message, true);
let waiting = null;

function moved(day) {
  if (!day) return;
  setDay(day);
  state.plot?.draw();
  history.replaceState(null, "", `?id=${encodeURIComponent(issuer)}&as_of=${day}`);
  clearTimeout(waiting);
  waiting = setTimeout(() => showKnown().catch(tell), 250);
}

form.elements.as_of.addEventListener("change", () => moved(form.elements.as_of.value));
form.elements.days.addEventListener("input", () => moved(new Date(first + Number(form.elements.days.value) * DAY).toISOString().slice(0, 10)));
form.elements.key.addEventListener("change", () => begin().catch(tell));
form.addEventListener("submit", (event) => event.preventDefault());
line.elements.line_item.addEventListener("change", () => showItem().catch(tell));
line.elements.period.addEventListener("change", drawVintages);
document.getElementById("vintages").closest("details").addEventListener("toggle", tabulate);
line.addEventListener("submit", (event) => event.preventDefault());
begin().catch(tell);
