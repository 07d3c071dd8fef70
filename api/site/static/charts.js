// Charts as SVG, drawn with D3 from the data in a figure: values on hover and by arrow keys,
// names at the ends of lines that switch them off, downloads, and a link that restores what is shown.
//
// A line has the next colour of the palette, or a tone: "then" and "now" have one colour each on
// every page, "muted" is the background that other lines are compared with.
/* global d3 */
import { element } from "./site.js";

const HEIGHT = 320, MARGIN = { top: 12, right: 26, bottom: 30, left: 62 };
const FONT = "Hanken Grotesk, system-ui, sans-serif", FONT_SIZE = 13;
// Names are at the ends of lines where the plot is wide enough for both, else above it.
const LABELLED_FROM = 560, WIDEST_LABEL = 190, LABEL_HEIGHT = 25, PICTURE_WIDTH = 860;
const pen = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  pen.font = `600 ${FONT_SIZE}px ${FONT}`;
  return pen.measureText(text).width;
}

function shortened(name) {
  let text = name;
  while (textWidth(text) > WIDEST_LABEL - 20) text = `${text.slice(0, -2)}…`;
  return text;
}
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
    // Not in the plot: what is in a slider cannot be reached by itself.
    const frame = element("div", null, { className: "frame" });
    frame.append(this.legend, this.plot);
    figure.querySelector("figcaption").after(frame, this.reading);
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
    this.plot.setAttribute("aria-label", `Chart: ${spec.title}. Arrow keys read its values.`);
    this.lines = spec.series.map((series, index) => ({
      name: series.name,
      index,
      tone: series.tone,
      points: series.points.map(([x, text, note]) => ({ x, text, note, y: text === null || text === undefined ? null : Number(text) })),
    }));
    this.xs = [...new Set(this.lines.flatMap((line) => line.points.map((point) => point.x)))];
    if (this.xs.every((x) => /^\d{4}(-\d\d-\d\d)?$/.test(x))) this.xs.sort();
    const gap = this.lines.some((line) => this.hasGap(line)) ? "a gap is a period without a value" : "";
    caption.querySelector(".dim").textContent = [spec.unit, gap].filter(Boolean).join(" · ");
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

  hasGap(line) {
    const known = this.withGaps(line.points).map((point) => point.y !== null);
    return known.slice(known.indexOf(true), known.lastIndexOf(true)).includes(false);
  }

  get shown() { return this.lines.filter((line) => !this.hidden.has(line.name)); }

  lineColour(line) { return line.tone ? colour(line.tone) : colours()[line.index % 8]; }

  // Next to the past the present is dashed.
  isDashed(line) { return line.tone === "now" && this.lines.some((other) => other.tone === "then"); }

  drawLegend(labels) {
    const labelled = labels !== null;
    this.legend.classList.toggle("ends", labelled);
    this.legend.replaceChildren(...this.lines.map((line) => {
      const item = element("li"), button = element("button", null, { type: "button", className: "key", title: line.name });
      const swatch = element("span", null, { className: "swatch" });
      swatch.style.background = this.lineColour(line);
      button.append(swatch, line.name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(line.name)));
      if (labelled) {
        item.style.top = `${labels.tops.get(line)}px`;
        item.style.width = `${labels.width}px`;
        button.style.color = this.lineColour(line);
      }
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

  // How wide the names are, where a plot of that width has room for them.
  labelWidth(width) {
    if (width < LABELLED_FROM) return 0;
    return Math.min(WIDEST_LABEL, 20 + Math.max(0, ...this.lines.map((line) => textWidth(line.name))));
  }

  // Where each name goes: at the end of its line, moved apart where two would overlap. The names of
  // lines that are switched off stay at the bottom, to switch them on again.
  labelTops(y) {
    const lowest = HEIGHT - LABEL_HEIGHT;
    const wanted = this.lines.map((line) => {
      const last = this.hidden.has(line.name) ? null : line.points.findLast((point) => point.y !== null);
      return { line, top: last ? y(last.y) - LABEL_HEIGHT / 2 : lowest };
    }).sort((first, second) => first.top - second.top);
    wanted.forEach((label, index) => { label.top = Math.max(label.top, index ? wanted[index - 1].top + LABEL_HEIGHT : 0); });
    wanted.reverse().forEach((label, index) => { label.top = Math.min(label.top, index ? wanted[index - 1].top - LABEL_HEIGHT : lowest); });
    return new Map(wanted.map(({ line, top }) => [line, top]));
  }

  scales(width, height, right) {
    const values = this.shown.flatMap((line) => line.points.map((point) => point.y)).filter((value) => value !== null);
    let [low, high] = values.length ? d3.extent(values) : [0, 1];
    if (this.spec.percent || this.spec.zero) low = Math.min(0, low);
    if (low === high) { high += Math.abs(high) * 0.1 || 1; low -= low > 0 && !this.spec.zero && !this.spec.percent ? low * 0.1 : 0; }
    const y = d3.scaleLinear([low, high], [height - MARGIN.bottom, MARGIN.top]).nice(5);
    const across = [MARGIN.left, width - right];
    if (!this.xs.every(isDay)) return { x: d3.scalePoint(this.xs, across).padding(0.5), y, place: (x) => x };
    const days = [...this.xs, ...(this.spec.until ? [this.spec.until] : [])].map(asDate);
    return { x: d3.scaleUtc(d3.extent(days), across), y, place: asDate };
  }

  draw() {
    const width = this.width = Math.max(this.plot.clientWidth, 260);
    const { svg, x, labels } = this.drawing(width);
    this.x = x;
    this.drawLegend(labels);
    this.rule = svg.append("line").attr("y1", MARGIN.top).attr("y2", HEIGHT - MARGIN.bottom).attr("stroke", colour("focus")).attr("stroke-dasharray", "4 3").attr("visibility", "hidden").node();
    this.plot.replaceChildren(svg.node(), this.tip);
    this.plot.setAttribute("aria-valuemin", "0");
    this.plot.setAttribute("aria-valuemax", String(Math.max(this.xs.length - 1, 0)));
    this.plot.dataset.drawn = String(this.shown.length);
    this.read(this.at, true);
  }

  // The plot at a width: its SVG, where a value is on the axis, and where names go, null for none.
  drawing(width) {
    const { spec } = this, height = HEIGHT, labelWidth = this.labelWidth(width), right = MARGIN.right + labelWidth;
    const scales = this.scales(width, height, right), { y } = scales;
    const x = (value) => scales.x(scales.place(value));
    const svg = d3.create("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height).attr("font-family", FONT).attr("font-size", 12).attr("aria-hidden", "true");
    const ink = colour("dim"), faint = colour("line");
    const ticks = y.ticks(5);
    svg.append("g").selectAll("line").data(ticks).join("line").attr("x1", MARGIN.left).attr("x2", width - right).attr("y1", y).attr("y2", y).attr("stroke", faint);
    svg.append("g").selectAll("text").data(ticks).join("text").attr("x", MARGIN.left - 8).attr("y", y).attr("dy", "0.32em").attr("text-anchor", "end").attr("fill", ink).text((tick) => forPeople(tick, spec.percent));
    const axis = d3.axisBottom(scales.x).tickSizeOuter(0);
    if (scales.x.ticks) {
      // The first label has its year: without it, "April" would be of any.
      const format = scales.x.tickFormat(), year = d3.utcFormat("%Y"), month = d3.utcFormat("%b %Y");
      axis.ticks(Math.max(3, Math.floor((width - right) / 110))).tickFormat((day, index) => (index || format(day) === year(day) ? format(day) : month(day)));
    }
    else {
      // As many labels as fit, the last one always.
      const room = 16 + Math.max(0, ...this.xs.map(textWidth)), every = Math.ceil(this.xs.length / Math.max(2, Math.floor((width - right - MARGIN.left) / room)));
      axis.tickValues(this.xs.filter((_, index) => (this.xs.length - 1 - index) % every === 0));
    }
    svg.append("g").attr("transform", `translate(0,${height - MARGIN.bottom})`).call(axis)
      .call((group) => { group.attr("font-size", 12).attr("font-family", null); group.selectAll("text").attr("fill", ink); group.selectAll("line,path").attr("stroke", faint); });
    const path = d3.line().defined((point) => point.y !== null).x((point) => x(point.x)).y((point) => y(point.y));
    if (spec.kind === "step") path.curve(d3.curveStepAfter);
    // What is in the background lies below.
    const depth = (line) => (line.tone === "muted" ? 0 : this.isDashed(line) ? 1 : 2);
    for (const line of this.shown.toSorted((first, second) => depth(first) - depth(second))) {
      const last = line.points.at(-1), muted = line.tone === "muted";
      const points = spec.until && last ? [...line.points, { ...last, x: spec.until }] : line.points;
      const stroke = this.lineColour(line);
      svg.append("path").attr("d", path(this.withGaps(points))).attr("fill", "none").attr("stroke", stroke).attr("stroke-width", muted ? 1.25 : 2.25).attr("stroke-opacity", muted ? 0.6 : null).attr("stroke-dasharray", this.isDashed(line) ? "5 4" : null).attr("stroke-linejoin", "round");
      if (!muted && line.points.length <= 60) {
        svg.append("g").attr("fill", stroke).selectAll("circle").data(line.points.filter((point) => point.y !== null)).join("circle").attr("cx", (point) => x(point.x)).attr("cy", (point) => y(point.y)).attr("r", 3);
      }
    }
    return { svg, x, labels: labelWidth ? { tops: this.labelTops(y), width: labelWidth } : null };
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

  // With title, unit, names and source, so that the picture can be used alone.
  picture() {
    const { spec } = this, width = PICTURE_WIDTH, top = 56, whole = HEIGHT + top + 28;
    const picture = d3.create("svg").attr("xmlns", "http://www.w3.org/2000/svg").attr("width", width).attr("height", whole).attr("viewBox", `0 0 ${width} ${whole}`).attr("font-family", FONT);
    picture.append("rect").attr("width", "100%").attr("height", "100%").attr("fill", colour("ground"));
    const text = (x, y, size, fill, words) => picture.append("text").attr("x", x).attr("y", y).attr("font-size", size).attr("fill", fill).text(words);
    text(16, 26, 16, colour("ink"), spec.title).attr("font-weight", "600");
    text(16, 44, 12, colour("dim"), spec.unit);
    const { svg, labels } = this.drawing(width);
    picture.node().append(svg.attr("aria-hidden", null).attr("y", top).node());
    for (const line of this.shown) {
      text(width - labels.width - 14, top + labels.tops.get(line) + 17, FONT_SIZE, this.lineColour(line), shortened(line.name)).attr("font-weight", "600");
    }
    text(16, HEIGHT + top + 18, 11, colour("dim"), `Source: ${spec.source}. Sankofa`);
    return new XMLSerializer().serializeToString(picture.node());
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
