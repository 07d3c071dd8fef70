// The page of an issuer: its figures as of a day, and how they were restated.
import { callApi, element, grouped, keyOf, setStatus, table, today } from "./site.js";
import { allVintages, figures, vintagesOfItem } from "./vintages.js";
import { drawRestated } from "./restated.js";

const form = document.getElementById("query"), line = document.getElementById("line");
const issuer = (new URLSearchParams(location.search).get("id") || form.dataset.example).replace(/[^A-Za-z0-9]/g, "");
const DAY = 86400000;
const first = Date.parse(`${form.dataset.first}T00:00:00Z`) || Date.parse("2000-01-01T00:00:00Z");
const state = { today: today(), asOf: today(), all: null, item: null, shown: [], plot: null };

const periodOf = (row) => (row.period_type === "INSTANT" ? row.period_end : `${row.period_type} to ${row.period_end}`);

function source(reference) {
  if (!/^https?:\/\//.test(reference)) return reference;
  const { host, pathname } = new URL(reference);
  return element("a", `${host}/…/${pathname.split("/").at(-1)}`, { href: reference, rel: "noreferrer", title: reference });
}

function showEntity(entity) {
  document.getElementById("name").textContent = entity.legal_name || issuer;
  document.title = `${entity.legal_name || issuer} · Sankofa`;
  const parts = [issuer, entity.country, entity.status, entity.lei && `LEI ${entity.lei}`, ...(entity.listings || []).map((listing) => `${listing.mic}:${listing.ticker}`)];
  document.getElementById("about").textContent = parts.filter(Boolean).join(" · ");
}

function setDay(day) {
  state.asOf = day;
  form.elements.as_of.value = day;
  form.elements.days.value = String(Math.round((Date.parse(`${day}T00:00:00Z`) - first) / DAY));
  form.elements.days.setAttribute("aria-valuetext", day);
  document.getElementById("known-on").textContent = day;
}

async function showFigures() {
  const day = state.asOf, body = await callApi(`/v1/fundamentals/${issuer}?as_of=${day}`, await keyOf(form));
  if (day !== state.asOf) return;
  const target = document.getElementById("facts");
  table(target, ["line item", "value", "unit", "period", "vintage", "published", "source"],
    body.data.map((row) => [row.line_item, grouped(row.value_reported), row.unit, periodOf(row), String(row.vintage), row.available_at, source(row.source_ref)]));
  target.dataset.asOf = day;
  setStatus(!body.count ? `This issuer had published nothing by ${day}.`
    : body.truncated ? `First ${body.count} figures as of ${day}; a paid key shows all.` : `${body.count} figures as of ${day}.`);
}

function fillPeriods(rows) {
  const kinds = [...new Set(rows.map((row) => row.period_type))].sort();
  const select = line.elements.period, selected = select.value;
  select.replaceChildren(...kinds.map((kind) => new Option(kind === "INSTANT" ? "balances" : kind, kind)));
  select.value = kinds.includes(selected) ? selected : kinds.includes("FY") ? "FY" : kinds[0] ?? "";
}

function drawVintages() {
  const shown = figures(state.item.rows.filter((row) => row.period_type === line.elements.period.value));
  const number = shown.reduce((sum, vintages) => sum + vintages.length, 0), restated = shown.filter((vintages) => vintages.length > 1).length;
  state.plot?.remove();
  state.plot = shown.length ? drawRestated(document.getElementById("plot"), shown, state) : null;
  Object.assign(document.getElementById("plot").dataset, { vintages: String(number), item: line.elements.line_item.value });
  document.getElementById("plotted").textContent = `${number} vintages of ${shown.length} figures, ${restated} of them restated. The dashed line marks the chosen day; later values are faded.`
    + (state.item.complete ? "" : " A paid key shows more vintages.");
  state.shown = shown;
  tabulate();
  performance.mark("vintages drawn");
}

// A table of thousands of rows takes longer than the plot: it is only filled when opened.
function tabulate() {
  const target = document.getElementById("vintages");
  if (!target.closest("details").open) return;
  const rows = state.shown.toReversed().flatMap((vintages) => vintages.map((row) => [periodOf(row), String(row.vintage), row.available_at, grouped(row.value_reported), row.unit]));
  table(target, ["period", "vintage", "published", "value", "unit"], rows);
}

async function showItem() {
  const item = line.elements.line_item.value, key = await keyOf(form);
  const vintages = state.all.complete
    ? { rows: state.all.rows.filter((row) => row.line_item === item), complete: true }
    : await vintagesOfItem(issuer, item, key);
  if (item !== line.elements.line_item.value) return;
  state.item = vintages;
  fillPeriods(state.item.rows);
  drawVintages();
}

function chooseItem() {
  const lastVintage = new Map();
  for (const row of state.all.rows) lastVintage.set(row.line_item, Math.max(lastVintage.get(row.line_item) || 0, row.vintage));
  const [name] = [...lastVintage].sort((a, b) => b[1] - a[1] || (b[0] === "revenue") - (a[0] === "revenue"))[0] || [];
  if (name) line.elements.line_item.value = name;
}

async function begin() {
  const key = await keyOf(form);
  form.elements.days.max = String(Math.round((Date.parse(`${state.today}T00:00:00Z`) - first) / DAY));
  form.elements.as_of.max = state.today;
  setDay(new URLSearchParams(location.search).get("as_of") || state.today);
  const [entity, all] = await Promise.all([callApi(`/v1/entities/${issuer}`, key).catch(() => ({})), allVintages(issuer, key), showFigures()]);
  showEntity(entity.data?.[0] ?? entity);
  state.all = all;
  chooseItem();
  await showItem();
}

const showError = (error) => setStatus(error.message, true);
let timer = null;

function changeDay(day) {
  if (!day) return;
  setDay(day);
  state.plot?.draw();
  history.replaceState(null, "", `?id=${encodeURIComponent(issuer)}&as_of=${day}`);
  clearTimeout(timer);
  timer = setTimeout(() => showFigures().catch(showError), 250);
}

form.elements.as_of.addEventListener("change", () => changeDay(form.elements.as_of.value));
form.elements.days.addEventListener("input", () => changeDay(new Date(first + Number(form.elements.days.value) * DAY).toISOString().slice(0, 10)));
form.elements.key.addEventListener("change", () => begin().catch(showError));
form.addEventListener("submit", (event) => event.preventDefault());
line.elements.line_item.addEventListener("change", () => showItem().catch(showError));
line.elements.period.addEventListener("change", drawVintages);
document.getElementById("vintages").closest("details").addEventListener("toggle", tabulate);
line.addEventListener("submit", (event) => event.preventDefault());
begin().catch(showError);
