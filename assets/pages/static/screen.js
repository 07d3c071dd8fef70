// Issuers ranked on a metric, as the API answers with the key of the form.
import { ask, config, element, grouped, keyOf, root, say, table } from "./site.js";

const form = document.getElementById("asked");
const NAMES = ["metric", "country", "as_of", "order"];

function begin() {
  const given = new URLSearchParams(location.search);
  for (const name of NAMES) if (given.has(name)) form.elements[name].value = given.get(name);
}

function bar(value, most) {
  const made = element("span", null, { className: "bar" });
  made.style.width = `${Math.max(1, Math.round((Math.abs(Number(value)) / most) * 120))}px`;
  return made;
}

function row(each, most) {
  const link = element("a", each.legal_name || each.service_id, { href: `${root}issuers/view/?id=${encodeURIComponent(each.service_id)}` });
  return [String(each.rank), link, each.country, grouped(each.value), bar(each.value, most), each.period_end, each.available_at];
}

function tellUniverse({ covered, ranked, left_out: leftOut }) {
  const told = { covered, ranked, ...Object.fromEntries(Object.entries(leftOut).filter(([, number]) => number)) };
  document.getElementById("universe").replaceChildren(...Object.entries(told).map(([name, number]) => {
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
  document.getElementById("formula").textContent = metric.selectedOptions[0].dataset.shown;
  document.getElementById("methodology").href = `${(await config).api}/methodology/metrics-v1/${metric.value}`;
  const body = await ask(`/v1/screen?${query}`, await keyOf(form));
  if (!isLast()) return;
  const most = Math.max(...body.data.map((each) => Math.abs(Number(each.value))), 1e-9);
  table(document.getElementById("ranked"), ["rank", "issuer", "country", "value", "size", "year to", "exact since"],
    body.data.map((each) => row(each, most)));
  tellUniverse(body.universe);
  say(body.data.length ? `${body.count} issuers${body.truncated ? ", of more: the key caps the rows" : ""}.`
    : "No issuer has an exact value for that day.");
}

let turn = 0;
function again() {
  const mine = ++turn;
  say("Asking…");
  show(() => mine === turn).catch((error) => { if (mine === turn) say(error.message, true); });
}

begin();
form.addEventListener("change", again);
form.addEventListener("submit", (event) => { event.preventDefault(); again(); });
again();
