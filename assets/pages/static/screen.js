// Issuers ranked by a metric, as returned by the API for the key of the form.
import { callApi, config, element, grouped, keyOf, root, setStatus, table } from "./site.js";

const form = document.getElementById("query");
const NAMES = ["metric", "country", "as_of", "order"];

function fillForm() {
  const query = new URLSearchParams(location.search);
  for (const name of NAMES) if (query.has(name)) form.elements[name].value = query.get(name);
}

function bar(value, largest) {
  const span = element("span", null, { className: "bar" });
  span.style.width = `${Math.max(1, Math.round((Math.abs(Number(value)) / largest) * 120))}px`;
  return span;
}

function row(issuer, largest) {
  const link = element("a", issuer.legal_name || issuer.service_id, { href: `${root}issuers/view/?id=${encodeURIComponent(issuer.service_id)}` });
  return [String(issuer.rank), link, issuer.country, grouped(issuer.value), bar(issuer.value, largest), issuer.period_end, issuer.available_at];
}

function showUniverse({ covered, ranked, left_out: leftOut }) {
  const counts = { covered, ranked, ...Object.fromEntries(Object.entries(leftOut).filter(([, number]) => number)) };
  document.getElementById("universe").replaceChildren(...Object.entries(counts).map(([name, number]) => {
    const box = element("div");
    box.append(element("dt", name.replaceAll("_", " ")), element("dd", String(number)));
    return box;
  }));
}

async function show(isLast) {
  const query = new URLSearchParams();
  for (const name of NAMES) if (form.elements[name].value) query.set(name, form.elements[name].value);
  history.replaceState(null, "", `?${query}`);
  const metric = form.elements.metric;
  document.getElementById("formula").textContent = metric.selectedOptions[0].dataset.formula;
  document.getElementById("methodology").href = `${(await config).api}/methodology/metrics-v1/${metric.value}`;
  const body = await callApi(`/v1/screen?${query}`, await keyOf(form));
  if (!isLast()) return;
  const largest = Math.max(...body.data.map((issuer) => Math.abs(Number(issuer.value))), 1e-9);
  table(document.getElementById("ranked"), ["rank", "issuer", "country", "value", "relative size", "year to", "final since"],
    body.data.map((issuer) => row(issuer, largest)));
  showUniverse(body.universe);
  setStatus(!body.data.length ? "No issuer had a final value on that day."
    : body.truncated ? `Showing ${body.count} of ${body.universe.ranked} issuers; a paid key shows all.` : `${body.count} issuers.`);
}

// Only the answer to the last request is shown: an earlier one may arrive later.
let lastRequest = 0;
function reload() {
  const request = ++lastRequest;
  setStatus("Loading…");
  show(() => request === lastRequest).catch((error) => { if (request === lastRequest) setStatus(error.message, true); });
}

fillForm();
form.addEventListener("change", reload);
form.addEventListener("submit", (event) => { event.preventDefault(); reload(); });
reload();
