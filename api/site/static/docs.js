// The API reference: sends the request of a form, and keeps the code next to it up to date. Answers
// contain text from many sources, so text is only ever set as text, never as HTML.
import { element, root } from "./site.js";

const SHOWN_HEADERS = ["x-data-version", "x-service-tier", "ratelimit", "etag", "x-request-id"];
const key = document.getElementById("key"), operations = document.getElementById("operations");

function address(box) {
  const query = new URLSearchParams();
  let path = box.dataset.path;
  for (const field of box.querySelectorAll("[data-location]")) {
    if (field.dataset.location === "path") {
      path = path.replace(`{${field.name}}`, encodeURIComponent(field.value).replaceAll("'", "%27"));
    } else if (field.dataset.location === "query" && field.value) query.set(field.name, field.value);
  }
  return path + (query.size ? `?${query}` : "");
}

// The JSON object that a form sends; nothing for a GET.
function sentBody(box) {
  const fields = [...box.querySelectorAll("[data-location=body]")];
  return fields.length ? `{${fields.map((field) => `"${field.name}":${field.value}`).join(",")}}` : undefined;
}

function writeCode(box) {
  const url = (operations.dataset.base || location.origin) + address(box);
  for (const span of box.querySelectorAll(".sent-url")) span.textContent = url;
  for (const span of box.querySelectorAll(".sent-body")) span.textContent = sentBody(box);
  for (const span of box.querySelectorAll(".sent-key")) span.textContent = key.value.trim() || "YOUR_KEY";
}

function row(cells, kind) {
  const line = element("tr");
  for (const cell of cells) line.append(element(kind, String(cell ?? "")));
  return line;
}

function rowsTable(rows) {
  const names = [...new Set(rows.flatMap((record) => Object.keys(record)))];
  const table = element("table", null, { className: "rows" });
  table.append(row(names, "th"));
  // null is written out: it means unknown, an empty cell a member that the row does not have.
  const cellText = (value) => (typeof value === "object" ? JSON.stringify(value) : value);
  for (const record of rows) table.append(row(names.map((name) => cellText(record[name])), "td"));
  return table;
}

function region(name, label, attributes) {
  const box = element(name, null, { tabIndex: 0, ...attributes });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
  return box;
}

function shownBody(text) {
  const shown = [];
  let pretty = text;
  try {
    const body = JSON.parse(text);
    const rows = body.data || body.observations;
    if (Array.isArray(rows) && rows.length) {
      const wide = region("div", "Rows", { className: "wide tall" });
      wide.append(rowsTable(rows));
      shown.push(wide);
    }
    pretty = JSON.stringify(body, null, 2);
  } catch { /* Not JSON: only the raw response is shown. */ }
  const raw = element("details", null, { open: !shown.length }), code = region("pre", "Raw response");
  code.append(element("code", pretty));
  raw.append(element("summary", "Raw response"), code);
  return shown.concat(raw);
}

async function send(box) {
  const answer = box.querySelector(".answer"), target = address(box), sent = key.value.trim();
  answer.replaceChildren(element("p", "Sending the request…"));
  const body = sentBody(box), method = body ? "POST" : "GET";
  const response = await fetch(root + target.slice(1), { method, body, headers: sent ? { "X-API-Key": sent } : {} });
  const text = await response.text();
  const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name));
  answer.replaceChildren(
    element("p", `${response.status} ${target}`, { className: "status" }),
    element("p", headers.map((name) => `${name}: ${response.headers.get(name)}`).join(" · "), { className: "dim" }),
    ...shownBody(text));
}

for (const box of operations.querySelectorAll(".operation")) {
  const form = box.querySelector("form");
  form.querySelector("button").disabled = false;
  form.addEventListener("input", () => writeCode(box));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(box).catch((error) => box.querySelector(".answer").replaceChildren(element("p", String(error))));
  });
}
key.addEventListener("input", () => operations.querySelectorAll(".operation").forEach(writeCode));
key.form.addEventListener("submit", (event) => event.preventDefault());

function openLinked() {
  const linked = location.hash && document.getElementById(location.hash.slice(1));
  if (linked && "open" in linked) linked.open = true;
}
window.addEventListener("hashchange", openLinked);
openLinked();
