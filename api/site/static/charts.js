// Charts as SVG, drawn with D3 from the data in a figure: values on hover and by arrow keys,
// names that switch lines off, downloads, and a link that restores what is shown.
/* global d3 */
import { element } from "./site.js";

const HEIGHT = 320, MARGIN = { top: 12, right: 26, bottom: 30, left: 62 };
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const colours = () => ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"].map(colour);
const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text);
const asDate = (day) => new Date(`${day}T00:00:00Z`);

export function forPeople(value, percent) {
  if (value === null || value === undefined) return "–";
  if (percent) return `${(100 * value).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
  const size = Math.abs(value);
  if (size >= 1e6) return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(value);
  return value.toLocaleString("en", { maximumFractionDigits: size >= 1000 ? 0 : size >= 10 ? 2 : 4 });
}

// What the address says of a chart: which lines are off, and which point is read.
const stateOf = (id) => {
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  return { hidden: new Set((state.get(`${id}.hide`) || "").split("|").filter(Boolean)), at: state.get(`${id}.at`) };
};

function keepState(id, hidden, at) {
  const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const put = (name, value) => { if (value) state.set(name, value); else state.delete(name); };
  put(`${id}.hide`, [...hidden].join("|"));
  put(`${id}.at`, at);
  const text = String(state);
  history.replaceState(null, "", text || location.hash.includes("=") ? `${location.pathname}${location.search}${text ? `#${text}` : ""}` : location.href);
}

function save(name, type, content) {
  const link = element("a", null, { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

class Chart {
  constructor(figure, spec) {
    this.figure = figure;
    this.id = figure.id;
    const state = stateOf(this.id);
    this.hidden = state.hidden;
    this.at = state.at;
    this.legend = element("ul", null, { className: "keys" });
    this.plot = element("div", null, { className: "plot", tabIndex: 0 });
    this.plot.setAttribute("role", "slider");
    this.reading = element("p", null, { className: "reading" });
    this.reading.setAttribute("aria-live", "polite");
    this.tip = element("div", null, { className: "tip", hidden: true });
    const buttons = element("p", null, { className: "downloads" });
    for (const [label, action] of [["SVG", () => this.saveSvg()], ["PNG", () => this.savePng()], ["CSV", () => this.saveCsv()]]) {
      const button = element("button", label, { type: "button" });
      button.setAttribute("aria-label", `Download the chart as ${label}`);
      button.addEventListener("click", action);
      buttons.append(button);
    }
    // Browsers have no clipboard for pages without TLS.
    if (navigator.clipboard) {
      const button = element("button", "Copy link", { type: "button" });
      button.addEventListener("click", async () => {
        button.textContent = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "It is the address of this page");
        setTimeout(() => { button.textContent = "Copy link"; }, 2000);
      });
      buttons.append(button);
    }
    figure.querySelector("figcaption").after(this.legend, this.plot, this.reading);
    figure.append(buttons);
    for (const name of ["pointermove", "pointerdown"]) this.plot.addEventListener(name, (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.read(this.at, true));
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.watch = new ResizeObserver(() => { if (this.plot.clientWidth !== this.width) this.draw(); });
    this.redraw = () => this.draw();
    dark.addEventListener("change", this.redraw);
    this.update(spec);
    this.watch.observe(this.plot);
  }

  update(spec) {
    this.spec = spec;
    const caption = this.figure.querySelector("figcaption");
    caption.querySelector("b").textContent = spec.title;
    caption.querySelector(".dim").textContent = spec.unit;
    this.plot.setAttribute("aria-label", `Chart: ${spec.title}. Arrow keys read its values.`);
    this.lines = spec.series.map((series, index) => ({
      name: series.name,
      index,
      faint: Boolean(series.faint),
      points: series.points.map(([x, text, note]) => ({ x, text, note, y: text === null || text === undefined ? null : Number(text) })),
    }));
    this.xs = [...new Set(this.lines.flatMap((line) => line.points.map((point) => point.x)))];
    if (this.xs.every((x) => /^\d{4}(-\d\d-\d\d)?$/.test(x))) this.xs.sort();
    this.draw();
  }

  // Where a period is missing the line is broken: nothing is interpolated.
  withGaps(points) {
    if (this.spec.kind === "step" || points.length < 4 || !points.every((point) => isDay(point.x))) return points;
    const days = points.map((point) => asDate(point.x) / 86400000);
    const usual = d3.median(d3.pairs(days, (first, second) => second - first));
    const longest = usual < 7 ? 7 : 1.6 * usual;
    return points.flatMap((point, index) => (index && days[index] - days[index - 1] > longest ? [{ x: points[index - 1].x, y: null }, point] : [point]));
  }

  get shown() { return this.lines.filter((line) => !this.hidden.has(line.name)); }

  lineColour(line) { return line.faint ? colour("dim") : colours()[line.index % 8]; }

  drawLegend() {
    this.legend.replaceChildren(...this.lines.map((line) => {
      const item = element("li"), button = element("button", null, { type: "button", className: "key" });
      const swatch = element("span", null, { className: "swatch" });
      swatch.style.background = this.lineColour(line);
      button.append(swatch, line.name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
      button.addEventListener("click", () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        keepState(this.id, this.hidden, this.at);
        this.draw();
        this.legend.children[line.index].firstChild.focus();
      });
      item.append(button);
      return item;
    }));
  }

  scales(width, height) {
    const values = this.shown.flatMap((line) => line.points.map((point) => point.y)).filter((value) => value !== null);
    let [low, high] = values.length ? d3.extent(values) : [0, 1];
    if (this.spec.percent || this.spec.zero) low = Math.min(0, low);
    if (low === high) { high += Math.abs(high) * 0.1 || 1; low -= low > 0 && !this.spec.zero && !this.spec.percent ? low * 0.1 : 0; }
    const y = d3.scaleLinear([low, high], [height - MARGIN.bottom, MARGIN.top]).nice(5);
    const across = [MARGIN.left, width - MARGIN.right];
    if (!this.xs.every(isDay)) return { x: d3.scalePoint(this.xs, across).padding(0.5), y, place: (x) => x };
    const days = [...this.xs, ...(this.spec.until ? [this.spec.until] : [])].map(asDate);
    return { x: d3.scaleUtc(d3.extent(days), across), y, place: asDate };
  }

  draw() {
    const { spec } = this, width = this.width = Math.max(this.plot.clientWidth, 260), height = HEIGHT;
    this.drawLegend();
    const { x, y, place } = this.scales(width, height);
    this.x = (value) => x(place(value));
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height).attr("font-family", "system-ui, sans-serif").attr("font-size", 12).attr("aria-hidden", "true");
    const ink = colour("dim"), faint = colour("line");
    const ticks = y.ticks(5);
    svg.append("g").selectAll("line").data(ticks).join("line").attr("x1", MARGIN.left).attr("x2", width - MARGIN.right).attr("y1", y).attr("y2", y).attr("stroke", faint);
    svg.append("g").selectAll("text").data(ticks).join("text").attr("x", MARGIN.left - 8).attr("y", y).attr("dy", "0.32em").attr("text-anchor", "end").attr("fill", ink).text((tick) => forPeople(tick, spec.percent));
    const axis = d3.axisBottom(x).tickSizeOuter(0);
    if (x.ticks) {
      // The first label has its year: without it, "April" would be of any.
      const format = x.tickFormat(), year = d3.utcFormat("%Y"), month = d3.utcFormat("%b %Y");
      axis.ticks(Math.max(3, Math.floor(width / 110))).tickFormat((day, index) => (index || format(day) === year(day) ? format(day) : month(day)));
    }
    else axis.tickValues(this.xs.filter((_, index) => (this.xs.length - 1 - index) % Math.ceil(this.xs.length / Math.max(2, Math.floor(width / 110))) === 0));
    svg.append("g").attr("transform", `translate(0,${height - MARGIN.bottom})`).call(axis)
      .call((group) => { group.attr("font-size", 12); group.selectAll("text").attr("fill", ink); group.selectAll("line,path").attr("stroke", faint); });
    const path = d3.line().defined((point) => point.y !== null).x((point) => this.x(point.x)).y((point) => y(point.y));
    if (spec.kind === "step") path.curve(d3.curveStepAfter);
    // What is faint lies below.
    for (const line of this.shown.toSorted((first, second) => second.faint - first.faint)) {
      const last = line.points.at(-1);
      const points = spec.until && last ? [...line.points, { ...last, x: spec.until }] : line.points;
      const stroke = this.lineColour(line);
      svg.append("path").attr("d", path(this.withGaps(points))).attr("fill", "none").attr("stroke", stroke).attr("stroke-width", line.faint ? 1.5 : 2).attr("stroke-dasharray", line.faint ? "4 3" : null).attr("stroke-linejoin", "round");
      if (line.points.length <= 60) {
        svg.append("g").attr("fill", stroke).selectAll("circle").data(line.points.filter((point) => point.y !== null)).join("circle").attr("cx", (point) => this.x(point.x)).attr("cy", (point) => y(point.y)).attr("r", line.faint ? 2 : 3);
      }
    }
    this.rule = svg.append("line").attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom).attr("stroke", colour("focus")).attr("stroke-dasharray", "4 3").attr("visibility", "hidden").node();
    this.svg = svg.node();
    this.plot.replaceChildren(this.svg, this.tip);
    this.plot.setAttribute("aria-valuemin", "0");
    this.plot.setAttribute("aria-valuemax", String(Math.max(this.xs.length - 1, 0)));
    this.plot.dataset.drawn = String(this.shown.length);
    this.read(this.at, true);
  }

  // The value of a line at a place: a stepped line keeps its value until the next step.
  valueAt(line, x) {
    const exact = line.points.find((point) => point.x === x);
    if (exact || this.spec.kind !== "step") return exact ?? null;
    return line.points.findLast((point) => point.x <= x) ?? null;
  }

  // Said in words only for keys: under a pointer the words would move the page.
  read(x, quiet, pointed) {
    const place = x !== null && this.xs.includes(x) ? x : null;
    const valid = place ?? this.xs.at(-1) ?? "";
    this.plot.setAttribute("aria-valuenow", String(Math.max(this.xs.indexOf(valid), 0)));
    const values = this.shown.map((line) => [line, this.valueAt(line, valid)]).filter(([, point]) => point && (point.y !== null || point.note));
    const texts = values.map(([line, point]) => `${line.name}: ${forPeople(point.y, this.spec.percent)}${point.note ? ` (${point.note})` : ""}`);
    const say = (x) => (this.spec.x === "month" ? x.slice(0, 7) : x);
    this.plot.setAttribute("aria-valuetext", `${say(valid)}. ${texts.join("; ")}`);
    this.tip.hidden = place === null;
    this.rule?.setAttribute("visibility", place === null ? "hidden" : "visible");
    if (!pointed && (!quiet || place !== null)) this.reading.textContent = place === null ? "" : `${say(place)}: ${texts.join("; ")}`;
    if (place === null) return;
    const across = this.x(place);
    this.rule.setAttribute("x1", across);
    this.rule.setAttribute("x2", across);
    const rows = values.map(([line, point]) => {
      const row = element("p"), swatch = element("span", null, { className: "swatch" });
      swatch.style.background = this.lineColour(line);
      row.append(swatch, `${line.name} `, element("b", forPeople(point.y, this.spec.percent), { title: point.text }), point.note ? ` ${point.note}` : "");
      return row;
    });
    this.tip.replaceChildren(element("b", say(place)), ...rows);
    this.tip.style.left = across > this.width / 2 ? "" : `${across + 12}px`;
    this.tip.style.right = across > this.width / 2 ? `${this.width - across + 12}px` : "";
  }

  point(event) {
    const across = event.clientX - this.plot.getBoundingClientRect().left;
    const nearest = d3.least(this.xs, (x) => Math.abs(this.x(x) - across));
    if (nearest !== undefined) this.read(nearest, true, true);
  }

  key(event) {
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") { this.at = null; keepState(this.id, this.hidden, null); this.read(null); return; }
    if (!(event.key in moves)) return;
    event.preventDefault();
    const now = this.at === null ? this.xs.length : this.xs.indexOf(this.at);
    const next = Math.min(this.xs.length - 1, Math.max(0, now + moves[event.key]));
    this.at = this.xs[next];
    keepState(this.id, this.hidden, this.at);
    this.read(this.at);
  }

  fileName(ending) { return `${this.spec.title.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 60)}.${ending}`; }

  // With title, unit, names and source, so that the picture can stand alone.
  picture() {
    const { spec, width } = this, bottom = 28, ns = "http://www.w3.org/2000/svg";
    // Names that do not fit beside each other go on: widths are guessed from the number of letters.
    let across = 16, row = 0;
    const keys = this.shown.map((line) => {
      const wide = 30 + 6.5 * line.name.length;
      if (across > 16 && across + wide > width) { across = 16; row += 1; }
      across += wide;
      return { line, x: across - wide, y: 50 + 16 * row };
    });
    const top = 64 + 16 * row;
    const whole = d3.create("svg").attr("xmlns", ns).attr("width", width).attr("height", HEIGHT + top + bottom).attr("viewBox", `0 0 ${width} ${HEIGHT + top + bottom}`).attr("font-family", "system-ui, sans-serif");
    whole.append("rect").attr("width", "100%").attr("height", "100%").attr("fill", colour("ground"));
    const text = (x, y, size, fill, words) => whole.append("text").attr("x", x).attr("y", y).attr("font-size", size).attr("fill", fill).text(words);
    text(16, 24, 16, colour("ink"), spec.title).attr("font-weight", "600");
    text(16, 42, 12, colour("dim"), spec.unit);
    for (const { line, x, y } of keys) {
      whole.append("rect").attr("x", x).attr("y", y).attr("width", 10).attr("height", 10).attr("fill", this.lineColour(line));
      text(x + 14, y + 9, 11, colour("ink"), line.name);
    }
    const inner = this.svg.cloneNode(true);
    inner.removeAttribute("aria-hidden");
    inner.setAttribute("y", String(top));
    inner.lastElementChild.remove();
    whole.node().append(inner);
    text(16, HEIGHT + top + 18, 11, colour("dim"), `Source: ${spec.source}. Sankofa`);
    return new XMLSerializer().serializeToString(whole.node());
  }

  saveSvg() { save(this.fileName("svg"), "image/svg+xml", this.picture()); }

  async savePng() {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.picture())}`;
    await image.decode();
    const canvas = element("canvas", null, { width: 2 * image.width, height: 2 * image.height });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    canvas.toBlob((blob) => save(this.fileName("png"), "image/png", blob));
  }

  saveCsv() {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = this.shown.flatMap((line) => line.points.map((point) => [point.x, line.name, point.text ?? "", point.note ?? ""].map((text) => cell(String(text))).join(",")));
    save(this.fileName("csv"), "text/csv", [`${this.spec.x || "x"},series,value,note`, ...lines, ""].join("\r\n"));
  }

  remove() { this.watch.disconnect(); dark.removeEventListener("change", this.redraw); }
}

export const makeChart = (figure, spec) => new Chart(figure, spec);

let drawn = [];
function drawAll() {
  drawn.forEach((chart) => chart.remove());
  drawn = [...document.querySelectorAll("figure[data-chart]")].map((figure) => makeChart(figure, JSON.parse(figure.querySelector("script").textContent)));
}
drawAll();
document.addEventListener("exchanged", drawAll);
