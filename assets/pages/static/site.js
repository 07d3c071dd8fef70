// Shared by all pages: the address of the API, the key, snippets with both, copy buttons.
// Text is only ever set as text, never as HTML.

export const root = new URL(document.documentElement.dataset.root, location.href).href;

async function readConfig() {
  const settings = await (await fetch(root + "config.json")).json();
  const api = (settings.api || root).replace(/\/$/, "");
  return { api, elsewhere: Boolean(settings.api), mcp: (settings.mcp || api).replace(/\/$/, ""), key: settings.sandbox_key || "" };
}

export const config = readConfig();

export function element(name, text, attributes) {
  const created = Object.assign(document.createElement(name), attributes || {});
  if (text !== undefined && text !== null) created.append(text);
  return created;
}

const isNumber = (cell) => typeof cell === "string" && /^-?[\d,]+(\.\d+)?$/.test(cell);

export function table(target, heads, rows) {
  const line = element("tr");
  heads.forEach((name, index) => {
    line.append(element("th", name, { scope: "col", className: isNumber(rows[0]?.[index]) ? "right" : "" }));
  });
  const head = element("thead"), body = element("tbody");
  head.append(line);
  for (const row of rows) {
    const cells = element("tr");
    for (const cell of row) {
      const box = element("td", cell ?? null);
      if (cell === null || cell === undefined) box.append(element("i", "null"));
      if (isNumber(cell)) box.className = "right value";
      if (typeof cell === "string" && /\d{4}-\d\d-\d\d$/.test(cell)) box.className = "day";
      cells.append(box);
    }
    body.append(cells);
  }
  target.replaceChildren(head, body);
}

// A number that a double cannot represent exactly stays the text it came as.
export function exact(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && String(value) !== context.source ? context.source : value);
}

export function grouped(value) {
  if (value === null || value === undefined) return null;
  const [whole, part] = String(value).split(".");
  return /^-?\d+$/.test(whole) ? whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part === undefined ? "" : "." + part) : String(value);
}

export async function callApi(path, key) {
  const { api } = await config;
  const response = await fetch(api + path, { headers: key ? { "X-API-Key": key } : {} });
  const body = exact(await response.text());
  if (response.ok) return body;
  const wait = response.headers.get("Retry-After");
  throw new Error((body.detail || `The API returned ${response.status}.`) + (wait ? ` Try again in ${wait} s.` : ""));
}

export function setStatus(text, isError) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("wrong", Boolean(isError));
}

// The key of a form: the sandbox key, or the visitor's own, which is stored in this tab only.
export async function keyOf(form) {
  const field = form.elements.key;
  const sandbox = (await config).key, untouched = !field.dataset.filled;
  field.dataset.filled = "yes";
  if (!field.value) field.value = (untouched && sessionStorage.getItem("key")) || sandbox;
  if (field.value === sandbox) sessionStorage.removeItem("key");
  else sessionStorage.setItem("key", field.value);
  return field.value.trim();
}

export const today = () => new Date().toISOString().slice(0, 10);

function fillIn({ api, elsewhere, mcp, key }) {
  const values = { api, mcp, key };
  for (const [name, value] of Object.entries(values)) {
    for (const span of document.querySelectorAll(`.fill.${name}`)) if (value) span.textContent = value;
  }
  if (!elsewhere) return;
  for (const link of document.querySelectorAll("a[data-api]")) {
    const path = link.href.startsWith(root) ? link.href.slice(root.length) : null;
    if (path !== null) link.href = `${api}/${path}`;
  }
}

function addCopyButtons() {
  for (const box of document.querySelectorAll(".snippet")) {
    const tool = box.dataset.tool, button = element("button", "Copy", { type: "button", className: "copy" });
    button.setAttribute("aria-label", `Copy: ${tool}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    box.querySelector("pre").before(button);
  }
}

addCopyButtons();
config.then(fillIn).catch(() => { /* The page stays as it was written. */ });
