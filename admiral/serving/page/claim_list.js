// A list of claims that are checked one after the other, with a line for each.

import { announce, announceError, byId, downloadLink, element } from "./elements.js";
import { retrieve } from "./retrieval.js";
import { routeTo } from "./routes.js";
import { kindSymbol, verdictKind, verdictWords } from "./wording.js";

let running = null; // what stops the list in progress
let listed = new Map(); // the results by their addresses

export const isListed = () => !byId("claims").hidden;
export const listedResult = (address) => listed.get(address);
export const stopList = () => running?.abort();

export function leaveList() {
  running?.abort();
  running = null;
  listed = new Map();
  byId("claims").hidden = true;
}

// Check claims; those that fail do not stop the others, unless nothing can be asked for any more.
export async function checkList(claims) {
  const settings = { hops: byId("hops").value, kb: byId("kb").value };
  const controller = new AbortController();
  running = controller;
  const lines = claims.map((claim) => element("li", { class: "muted" }, claim));
  const records = [];
  let problem = null;
  begin(lines);
  for (const [at, claim] of claims.entries()) {
    lines[at].setAttribute("aria-current", "true");
    announce(`Checking claim ${at + 1} of ${claims.length}.`);
    const id = String(at + 1);
    try {
      const result = await retrieve({ claim, ...settings }, controller.signal);
      const address = routeTo({ claim, ...settings });
      listed.set(address, result);
      records.push({ ...result.record, id });
      lines[at].replaceWith(resultLine(result.record, address));
    } catch (error) {
      if (running !== controller) return; // other claims are checked by now
      lines[at].removeAttribute("aria-current");
      problem = controller.signal.aborted || (error.status && error.status !== 401) ? null : error;
      if (controller.signal.aborted || problem) break;
      records.push({ id, claim, problem: error.message });
      lines[at].prepend(element("span", { class: "warning" }, `Failed: ${error.message} `));
    }
    byId("claims-progress").value = at + 1;
  }
  end(records, claims.length);
  if (problem) announceError(problem);
}

function begin(lines) {
  byId("claims-heading").textContent = `${lines.length} claims`;
  byId("claims-lines").replaceChildren(...lines);
  byId("claims-download").replaceChildren();
  byId("claims-progress").max = lines.length;
  byId("claims-progress").value = 0;
  byId("claims").hidden = byId("claims-progress").hidden = byId("claims-stop").hidden = false;
  byId("claims-heading").focus();
}

function end(records, count) {
  byId("claims-progress").hidden = byId("claims-stop").hidden = true;
  announce(`${records.length === count ? "Complete" : "Stopped"}: ${records.length} of ${count} claims.`);
  if (!records.length) return;
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
  byId("claims-download").replaceChildren(downloadLink("Download all records (JSON Lines)", "results.jsonl", "application/jsonl", text));
}

function resultLine(record, address) {
  const kind = verdictKind(record.verdict);
  return element(
    "li",
    { class: kind },
    element("span", { class: "symbol", "aria-hidden": "true" }, kindSymbol(kind)),
    " ",
    element("a", { href: address }, record.claim),
    `: ${verdictWords(record)}`,
  );
}
