// The list of issuers, filtered while typing.
import { root, element, setStatus } from "./site.js";

const MAX_ROWS = 100;
const issuers = await (await fetch(`${root}data/issuers.json`)).json();
const field = document.getElementById("find").elements.search;
const body = document.querySelector("#issuers tbody");

function plain(text) {
  return (text || "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

const searched = issuers.map(([id, name]) => `${plain(name)} ${id.toLowerCase()}`);

function show() {
  const words = plain(field.value).split(/\s+/).filter(Boolean);
  const matches = issuers.filter((_, index) => words.every((word) => searched[index].includes(word)));
  body.replaceChildren(...matches.slice(0, MAX_ROWS).map(([id, name, country, figures, restated]) => {
    const line = element("tr"), first = element("th", null, { scope: "row" });
    first.append(element("a", name || id, { href: `view/?id=${encodeURIComponent(id)}` }));
    line.append(first, element("td", country || "–"));
    const code = element("td");
    code.append(element("code", id));
    line.append(code, element("td", figures.toLocaleString("en"), { className: "right" }),
      element("td", restated.toLocaleString("en"), { className: "right" }));
    return line;
  }));
  setStatus(matches.length > MAX_ROWS ? `Showing ${MAX_ROWS} of ${matches.length.toLocaleString("en")} issuers.` : `${matches.length} ${matches.length === 1 ? "issuer" : "issuers"}.`);
}

field.addEventListener("input", show);
document.getElementById("find").addEventListener("submit", (event) => event.preventDefault());
show();
