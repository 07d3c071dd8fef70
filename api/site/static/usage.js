// The limits of the key that a visitor enters. It is kept for this tab, and sent in a header only.
import { element, root, setStatus } from "./site.js";

const STORED = "sankofa-key";
const NAMES = { burst: "Requests per minute", monthly: "Requests per month" };
const form = document.getElementById("ask"), field = document.getElementById("key");
const usage = document.getElementById("usage"), forget = document.getElementById("forget");

function duration(seconds) {
  const days = Math.floor(seconds / 86400), hours = Math.floor((seconds % 86400) / 3600);
  if (days) return `in ${days} d ${hours} h`;
  return hours ? `in ${hours} h ${Math.floor((seconds % 3600) / 60)} min` : `in ${seconds} s`;
}

function moment(seconds) {
  return `${new Date(Date.now() + 1000 * seconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function line(limit) {
  const row = element("tr"), name = NAMES[limit.name] ?? limit.name;
  const bar = element("progress", null, { max: limit.quota, value: limit.used });
  bar.setAttribute("aria-label", `${name}, used`);
  row.append(element("th", name, { scope: "row" }));
  for (const [label, value] of [["Used", limit.used], ["Of", limit.quota], ["Remaining", limit.remaining]]) {
    const cell = element("td", value.toLocaleString("en"), { className: "right" });
    cell.dataset.label = label;
    row.append(cell);
  }
  const share = element("td", bar), resets = element("td", `${duration(limit.resets_in)} (${moment(limit.resets_in)})`);
  share.dataset.label = "Share";
  resets.dataset.label = "Resets";
  row.append(share, resets);
  return row;
}

async function ask() {
  const key = field.value.trim();
  usage.hidden = true;
  setStatus("Loading…");
  // Text that no header can have is no key.
  if (!/^[\x21-\x7e]+$/.test(key)) { setStatus("This is no API key: a key has letters, digits, - and _ only.", true); return; }
  const response = await fetch(`${root}v1/usage`, { headers: { "X-API-Key": key }, cache: "no-store" });
  const body = await response.json();
  if (!response.ok) { setStatus(body.detail, true); return; }
  if (key !== field.dataset.sandbox) { sessionStorage.setItem(STORED, key); forget.hidden = false; }
  document.getElementById("tier").textContent = body.tier;
  document.getElementById("limits").replaceChildren(...body.limits.map(line));
  usage.hidden = false;
  setStatus(body.limits.length ? "" : "This service counts no requests.");
}

const answer = () => ask().catch(() => setStatus("The service does not answer; try again.", true));
form.addEventListener("submit", (event) => { event.preventDefault(); answer(); });
forget.addEventListener("click", () => {
  sessionStorage.removeItem(STORED);
  field.value = field.dataset.sandbox;
  usage.hidden = forget.hidden = true;
  setStatus("The key is forgotten.");
  field.focus();
});
if (sessionStorage.getItem(STORED)) { field.value = sessionStorage.getItem(STORED); answer(); }
