// The API reference, drawn from /openapi.json. Responses contain text from many sources, so text
// is only ever set as text, never as HTML.
"use strict";

const SHOWN_HEADERS = ["x-data-version", "x-service-tier", "ratelimit", "etag", "x-request-id"];

function element(name, text, attributes) {
  const node = Object.assign(document.createElement(name), attributes || {});
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
}

function resolved(description, part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split("/").reduce((inner, step) => inner[step], description);
}

function field(parameter, schema, sent) {
  const words = schema.enum;
  const input = element(words ? "select" : "input", null, { name: parameter.name });
  if (words) for (const word of [""].concat(words)) input.append(element("option", word));
  const example = parameter.example ?? schema.example ?? (schema.examples || [])[0] ?? schema.default;
  if (!words && example !== undefined) input.placeholder = String(example);
  // What a request needs to return rows is filled in, so that "Send" works at once.
  if (parameter.name in sent) input.value = sent[parameter.name];
  else if (!words && parameter.required && example !== undefined) input.value = String(example);
  return input;
}

function row(cells, kind) {
  const line = element("tr");
  for (const cell of cells) {
    const box = element(kind || "td");
    box.append(cell instanceof Node ? cell : String(cell ?? ""));
    line.append(box);
  }
  return line;
}

function parametersTable(description, operation) {
  const table = element("table");
  table.append(row(["parameter", "value", "meaning"], "th"));
  for (const reference of operation.parameters || []) {
    const parameter = resolved(description, reference);
    if (parameter.in !== "path" && parameter.in !== "query") continue;
    const schema = resolved(description, parameter.schema) || {};
    const input = field(parameter, schema, operation["x-example"] || {});
    input.dataset.location = parameter.in;
    const name = parameter.name + (parameter.required ? " (required)" : "");
    table.append(row([element("code", name), input, parameter.description]));
  }
  return table;
}

function responsesTable(description, operation) {
  const table = element("table");
  table.append(row(["status", "meaning"], "th"));
  for (const [status, reference] of Object.entries(operation.responses || {})) {
    table.append(row([status, (resolved(description, reference) || {}).description]));
  }
  return table;
}

function address(path, form) {
  const query = new URLSearchParams();
  let filled = path;
  for (const input of form.querySelectorAll("[data-location]")) {
    if (input.dataset.location === "path") {
      filled = filled.replace("{" + input.name + "}", encodeURIComponent(input.value));
    } else if (input.value) query.set(input.name, input.value);
  }
  return filled + (query.size ? "?" + query : "");
}

function rowsTable(rows) {
  const names = [...new Set(rows.flatMap((record) => Object.keys(record)))];
  const table = element("table", null, { className: "rows" });
  table.append(row(names, "th"));
  // null is written out: it means unknown, an empty cell a member that the row does not have.
  const cellText = (value) => (typeof value === "object" ? JSON.stringify(value) : value);
  for (const record of rows) table.append(row(names.map((name) => cellText(record[name]))));
  return table;
}

async function call(path, form, answer) {
  const target = address(path, form);
  const key = document.getElementById("key").value.trim();
  answer.replaceChildren(element("p", "Sending the request…"));
  const response = await fetch(target, { headers: key ? { "X-API-Key": key } : {} });
  const text = await response.text();
  const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name));
  const curl = `curl -H 'X-API-Key: ${key}' '${location.origin}${target}'`;
  answer.replaceChildren(
    element("p", `${response.status} ${target}`, { className: "status" }),
    element("pre", curl),
    element("p", headers.map((name) => `${name}: ${response.headers.get(name)}`).join(" · "),
      { className: "small" }));
  answer.append(...shownBody(text));
}

function shownBody(text) {
  const shown = [];
  let pretty = text;
  try {
    const body = JSON.parse(text);
    const rows = body.data || body.observations;
    if (Array.isArray(rows) && rows.length) {
      const wide = element("div", null, { className: "wide" });
      wide.append(rowsTable(rows));
      shown.push(wide);
    }
    pretty = JSON.stringify(body, null, 2);
  } catch { /* Not JSON: only the raw response is shown. */ }
  const raw = element("details");
  raw.append(element("summary", "Raw response"), element("pre", pretty));
  return shown.concat(raw);
}

function drawn(description, path, operation) {
  const box = element("details", null, { id: operation.operationId || path });
  const head = element("summary");
  head.append(element("span", path, { className: "path" }), operation.summary || "");
  const form = element("form"), answer = element("div", null, { className: "answer" });
  form.append(parametersTable(description, operation), element("button", "Send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    call(path, form, answer).catch((error) => answer.replaceChildren(element("p", String(error))));
  });
  const statuses = element("details");
  statuses.append(element("summary", "Responses"), responsesTable(description, operation));
  box.append(head, element("p", operation.description), form, answer, statuses);
  return box;
}

async function draw() {
  document.getElementById("key").value =
    document.querySelector("meta[name=sandbox-key]").content;
  const description = await (await fetch("/openapi.json")).json();
  const groups = new Map();
  for (const [path, item] of Object.entries(description.paths)) {
    if (!item.get) continue;
    const group = (item.get.tags || ["service"])[0];
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(drawn(description, path, item.get));
  }
  const main = document.getElementById("operations");
  main.replaceChildren();
  for (const [group, boxes] of groups) main.append(element("h2", group), ...boxes);
  const linked = location.hash && document.getElementById(location.hash.slice(1));
  if (linked) linked.open = true;
}

draw().catch((error) => {
  document.getElementById("operations").replaceChildren(
    element("p", `The API description cannot be loaded: ${error}`));
});
