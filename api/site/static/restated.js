// The first page: figures of one issuer as they were known on the day of the slider.
import { makeChart, forPeople } from "./charts.js";

const figure = document.getElementById("restated");
const story = JSON.parse(figure.querySelector("script").textContent);
const range = document.querySelector("#day [type=range]"), shown = document.querySelector("#day output");

const knownOn = (vintages, day) => vintages.findLast(([published]) => published <= day) ?? null;

function specOf(day) {
  const points = (on) => story.figures.map(({ label, vintages }) => {
    const known = knownOn(vintages, on);
    return [label, known ? known[1] : null, known ? `vintage ${vintages.indexOf(known) + 1}, published ${known[0]}` : null];
  });
  const today = story.days.at(-1);
  return {
    ...story.chart,
    series: [...(day === today ? [] : [{ name: `known on ${day}`, points: points(day), tone: "then" }]), { name: "known today", points: points(today), tone: "now" }],
  };
}

const restatedAfter = (day) => story.figures.filter(({ vintages }) => {
  const then = knownOn(vintages, day);
  return then && then[1] !== vintages.at(-1)[1];
});

let chart = null;
function show() {
  const day = story.days[Number(range.value)];
  shown.textContent = day;
  range.setAttribute("aria-valuetext", day);
  if (chart) chart.update(specOf(day)); else chart = makeChart(figure, specOf(day));
  const differing = restatedAfter(day);
  const [example] = differing.toReversed();
  document.getElementById("said").textContent = example
    ? `On ${day} ${story.line} of ${example.label} was ${forPeople(Number(knownOn(example.vintages, day)[1]))} ${story.chart.unit}; today it is ${forPeople(Number(example.vintages.at(-1)[1]))} ${story.chart.unit}. ${differing.length === 1 ? "It was" : `${differing.length} of these figures were`} restated later.`
    : `None of the figures known on ${day} was restated later.`;
}

range.max = String(story.days.length - 1);
// The newest day of those after which most was restated.
const counts = story.days.map((day) => restatedAfter(day).length);
range.value = String(counts.lastIndexOf(Math.max(...counts)));
range.addEventListener("input", show);
show();
