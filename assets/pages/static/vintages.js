// Every vintage of a line item that a key can see.
//
// A key without a row limit gets all of them in one response. A sample key gets few rows per
// response: for a line item, request the latest vintages, then those known on the day before the
// newest restatement among them, and so on back in time.
import { callApi } from "./site.js";

const MAX_REQUESTS = 6;

const figure = (row) => [row.line_item, row.unit, row.period_type, row.period_start, row.period_end, row.basis].join("|");

function dayBefore(day) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86400000).toISOString().slice(0, 10);
}

function fromShared(row) {
  return { ...row, line_item: row.measure, value_reported: row.value };
}

export async function allVintages(issuer, key) {
  const body = await callApi(`/v1/fundamentals/${issuer}?vintages=all`, key);
  return { rows: body.data, complete: !body.truncated };
}

export async function vintagesOfItem(issuer, item, key) {
  const vintages = new Map();
  let asOf = null, complete = false, truncated = false;
  for (let request = 0; request < MAX_REQUESTS; request += 1) {
    const day = asOf ? `&as_of=${asOf}` : "";
    const body = await callApi(`/v1/shared/facts?entity_id=${issuer}&dataset=AF-FUND&measure=${encodeURIComponent(item)}${day}`, key);
    const rows = body.data.map(fromShared);
    for (const row of rows) vintages.set(`${figure(row)}|${row.vintage}`, row);
    const restated = rows.filter((row) => row.vintage > 1 && !vintages.has(`${figure(row)}|${row.vintage - 1}`));
    truncated ||= body.truncated;
    complete = !restated.length && !truncated;
    if (!restated.length) break;
    asOf = dayBefore(restated.map((row) => row.available_at).sort().at(-1));
  }
  return { rows: [...vintages.values()], complete };
}

export function figures(rows) {
  const byFigure = new Map();
  for (const row of rows) {
    if (!row.available_at) continue;
    const name = figure(row);
    if (!byFigure.has(name)) byFigure.set(name, []);
    byFigure.get(name).push(row);
  }
  for (const vintages of byFigure.values()) vintages.sort((first, second) => first.vintage - second.vintage);
  return [...byFigure.values()].sort((first, second) => (first[0].period_end < second[0].period_end ? -1 : 1));
}
