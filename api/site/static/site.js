// Shared by all pages: search as you type, the as_of slider, sorting, snippets and copy buttons.
// Pages work without it. Text is only ever set as text, never as HTML.

export const root = new URL(document.documentElement.dataset.root, location.href).href;

export function element(name, text, attributes) {
  const created = Object.assign(document.createElement(name), attributes || {});
  if (text !== undefined && text !== null) created.append(text);
  return created;
}

const isNumber = (cell) => typeof cell === "string" && /^[-−]?[\d,]+(\.\d+)?( %)?$/.test(cell);

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
      const box = element("td", cell ?? "–");
      if (isNumber(cell)) box.className = "right";
      cells.append(box);
    }
    body.append(cells);
  }
  target.replaceChildren(head, body);
}

export function setStatus(text, isError) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("wrong", Boolean(isError));
}

const pause = (seconds) => new Promise((resolve) => { setTimeout(resolve, 1000 * seconds); });

// Waits and asks again as long as the service is busy; `note` says so.
export async function patientFetch(address, note) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(address).catch(() => null);
    if (response && ![429, 502, 503].includes(response.status)) { note?.(""); return response; }
    if (attempt === 20) { note?.("The service does not answer; reload the page to try again."); return null; }
    const seconds = Number(response?.headers.get("Retry-After")) || Math.min(attempt, 10);
    note?.(`Waiting for the service, ${seconds} s…`);
    await pause(Math.min(seconds, 30));
  }
}

// Search as you type: the first results of the search page, below the field.
function suggest(form) {
  const field = form.querySelector("input[type=search]");
  const list = element("ul", null, { className: "suggestions", id: "suggestions", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  form.append(list);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-autocomplete", "list");
  let timer = null, place = -1, newest = "";
  const show = (visible) => { list.hidden = !visible; field.setAttribute("aria-expanded", String(visible)); };
  show(false);
  const mark = (next) => {
    const options = [...list.children];
    place = options.length ? (next + options.length + 1) % (options.length + 1) : -1;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === place)));
    if (options[place]) field.setAttribute("aria-activedescendant", options[place].id);
    else field.removeAttribute("aria-activedescendant");
  };
  async function ask() {
    const words = field.value.trim();
    newest = words;
    if (words.length < 2) { show(false); return; }
    const response = await fetch(`${form.action}?q=${encodeURIComponent(words)}`).catch(() => null);
    if (!response?.ok || newest !== words) return;
    const found = new DOMParser().parseFromString(await response.text(), "text/html");
    const items = [...found.querySelectorAll("#results > li")].slice(0, 7);
    list.replaceChildren(...items.map((item, index) => {
      const option = element("li", null, { id: `suggestion-${index}` }), link = item.querySelector("a");
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.href = new URL(link.getAttribute("href"), response.url).href;
      option.append(element("span", link.textContent), element("small", item.querySelector(".dim")?.textContent ?? ""));
      option.addEventListener("mousedown", () => { location.href = option.dataset.href; });
      return option;
    }));
    place = -1;
    show(items.length > 0);
  }
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 200); });
  field.addEventListener("blur", () => setTimeout(() => show(false), 150));
  field.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (event.key === "ArrowDown") mark(place + 1);
      else mark(place < 0 ? list.children.length - 1 : place - 1);
    } else if (event.key === "Escape") show(false);
    else if (event.key === "Enter" && list.children[place]) {
      event.preventDefault();
      location.href = list.children[place].dataset.href;
    }
  });
}

// The slider steps from one day on which something was published to the next.
function slide(form) {
  const days = form.dataset.days.split(" ").filter(Boolean), field = form.elements.as_of;
  if (days.length < 2 || form.querySelector("[type=range]")) return;
  const { today } = form.dataset, steps = [...days, today];
  const at = field.value ? Math.max(0, steps.findLastIndex((day) => day <= field.value)) : steps.length - 1;
  const range = element("input", null, { type: "range", name: "", min: "0", max: String(steps.length - 1), value: String(at) });
  const label = element("label", null, { className: "grow" }), words = element("span", "Step through publications: "), shown = element("output");
  words.append(shown);
  label.append(words, range);
  field.closest("label").after(label);
  // A moved slider and a changed day are shown at once.
  form.querySelector("button").hidden = true;
  const describe = () => {
    const day = Number(range.value) === steps.length - 1 ? "today" : steps[Number(range.value)];
    shown.textContent = day;
    range.setAttribute("aria-valuetext", day);
  };
  describe();
  let timer = null;
  const choose = () => {
    const day = Number(range.value) === steps.length - 1 ? "" : steps[Number(range.value)];
    field.value = day;
    describe();
    clearTimeout(timer);
    timer = setTimeout(() => load(form), 250);
  };
  range.addEventListener("input", choose);
  field.addEventListener("change", () => { if (form.reportValidity()) load(form); });
}

let loading = 0;

// The same page as of another day: only what is in `main` is exchanged.
async function load(form) {
  const number = loading += 1;
  const wanted = new URLSearchParams([...new FormData(form)].filter(([name, value]) => name && value));
  const address = `${location.pathname}${[...wanted].length ? `?${wanted}` : ""}`;
  const note = (text) => { const place = document.querySelector("form[data-live] .waiting"); if (place) place.textContent = text; };
  const response = await patientFetch(address, (text) => { if (number === loading) note(text); });
  if (!response || number !== loading) return;
  if (!response.ok) { location.href = address; return; }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const { type, name, value } = document.activeElement ?? {}, scroll = window.scrollY;
  document.querySelector("main").replaceChildren(...page.querySelector("main").childNodes);
  history.replaceState(null, "", address);
  enliven(document.querySelector("main"));
  const again = type === "checkbox" ? `[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]` : "form[data-live] [type=range]";
  if (["range", "checkbox"].includes(type)) document.querySelector(`main ${again}`)?.focus({ preventScroll: true });
  window.scrollTo({ top: scroll, behavior: "instant" });
  document.querySelector("main").dataset.loaded = wanted.get("as_of") ?? "today";
  document.dispatchEvent(new CustomEvent("exchanged"));
}

const sortKey = (cell) => cell?.querySelector("data")?.value ?? cell?.textContent.trim() ?? "";

function compare(first, second) {
  const numbers = [first, second].map((text) => Number(text.replace(/[, %]/g, "")));
  const bothNumbers = numbers.every((value, index) => !Number.isNaN(value) && [first, second][index] !== "");
  return bothNumbers ? numbers[0] - numbers[1] : first.localeCompare(second);
}

function sortable(target) {
  [...target.tHead.rows[0].cells].forEach((head, column) => {
    const button = element("button", null, { type: "button", className: "sort" });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of target.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...target.tBodies[0].rows];
      rows.sort((first, second) => (descending ? -1 : 1) * compare(sortKey(first.cells[column]), sortKey(second.cells[column])));
      target.tBodies[0].append(...rows);
    });
  });
}

// On a narrow screen rows are shown one below the other, each cell with the name of its column.
function labelled(target) {
  const heads = [...target.tHead.rows[0].cells].map((head) => head.textContent.trim());
  for (const row of target.tBodies[0].rows) {
    [...row.cells].forEach((cell, index) => { if (cell.tagName === "TD" && cell.colSpan === 1 && heads[index]) cell.dataset.label ??= heads[index]; });
  }
}

function addCopyButtons(within) {
  for (const box of within.querySelectorAll(".snippet")) {
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

// What is ticked is shown at once.
function choose(form) {
  form.querySelector("button").hidden = true;
  form.addEventListener("change", () => load(form));
}

function enliven(within) {
  for (const form of within.querySelectorAll("form[data-choice]")) choose(form);
  for (const form of within.querySelectorAll("form[data-live]")) slide(form);
  for (const target of within.querySelectorAll(".stack table")) if (target.tHead) labelled(target);
  for (const target of within.querySelectorAll("table.sortable")) sortable(target);
  addCopyButtons(within);
}

for (const form of document.querySelectorAll("header .find")) suggest(form);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  document.getElementById("find").focus();
});
// A tap on a rounded value shows all its digits, and the next one the rounded value again.
document.addEventListener("click", (event) => {
  const shown = event.target.closest("main data");
  if (!shown || shown.closest("a")) return;
  [shown.textContent, shown.dataset.other] = [shown.dataset.other ?? shown.value, shown.textContent];
});
enliven(document);
