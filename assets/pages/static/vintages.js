// Every vintage of a line item that a key can see.
//
// A key without a cap gets all in one answer. One of the sample tier gets few rows of each: for
// a line item the latest vintages are asked, then those known on the day before the newest
// restatement among them, and so on back: each answer is what was known on its day.
import { ask } from "./site.js";

const BACK = 6;

const figure = (row) => [row.line_item, row.unit, row.period_type, row.period_start, row.period_end, row.basis].join("|");

function dayBefore(day) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86400000).toISOString().slice(0, 10);
}

function fromShared(row) {
  return { ...row, line_item: row.measure, value_reported: row.value };
}

export async function everything(issuer, key) {
  const body = await ask(`/v1/fundamentals/${issuer}?vintages=all`, key);
  return { rows: body.data, whole: !body.truncated };
}

export async function ofItem(issuer, item, key) {
  const held = new Map();
  let asOf = null, whole = false, capped = false;
  for (let turn = 0; turn < BACK; turn += 1) {
    const day = asOf ? `&as_of=${asOf}` : "";
    const body = await ask(`/v1/shared/facts?entity_id=${issuer}&dataset=AF-FUND&measure=${encodeURIComponent(item)}${day}`, key);
    const rows = body.data.map(fromShared);
    for (const row of rows) held.set(`${figure(row)}|${row.vintage}`, row);
    const restated = rows.filter((row) => row.vintage > 1 && !held.has(`${figure(row)}|${row.vintage - 1}`));
    capped ||= body.truncated;
    whole = !restated.length && !capped;
    if (!restated.length) break;
    asOf = dayBefore(restated.map((row) => row.available_at).sort().at(-1));
  }
  return { rows: [...held.values()], whole };
}

export function figures(rows) {
  const found = new Map();
  for (const row of rows) {
    if (!row.available_at) continue;
    const name = figure(row);
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(row);
  }
  for (const each of found.values()) each.sort((one, two) => one.vintage - two.vintage);
  return [...found.values()].sort((one, two) => (one[0].period_end < two[0].period_end ? -1 : 1));
}
