// The result of a claim: verdict, the last hop's proof, documents, and what can be exported.

import { documentGraph } from "./document_graph.js";
import { announce, byId, downloadLink, element } from "./elements.js";
import { hopContent, isUnchanged } from "./hop_view.js";
import { reportLink } from "./report_export.js";
import { documentRoute } from "./routes.js";
import { kindSymbol, percent, stopReason, verdictKind, verdictWord, verdictWords } from "./wording.js";

const SHOWN = 10;

export function hideResult() {
  for (const id of ["result", "documents-found"]) {
    byId(id).replaceChildren();
    byId(id).hidden = true;
  }
}

// Show a result. `text` is its record as the service sent it, `hops` are the events of its hops.
export function showResult({ record, text, hops }) {
  const last = lastHop(hops);
  if (last) byId(`hop-${last.number}`).remove(); // the result has it
  byId("result").replaceChildren(
    element("h2", { id: "result-heading", tabindex: "-1" }, "Result"),
    element("p", { class: "claim" }, record.claim),
    ...resultParts(record, last),
    element(
      "p",
      { class: "exports" },
      copyButton(),
      element("button", { type: "button", click: () => keep(record, last) }, "Keep beside the next claim"),
      downloadLink("Download the record (JSON)", "result.json", "application/json", text),
      reportLink(record.claim),
    ),
  );
  byId("documents-found").replaceChildren(
    element("h2", {}, "Documents"),
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h3", {}, "Ranking"), ...ranking(record.documents)),
      element("div", {}, element("h3", {}, "Which document led to which"), ...documentGraph(hops)),
    ),
  );
  byId("result").hidden = byId("documents-found").hidden = false;
  return verdictWords(record);
}

const lastHop = (hops) => hops.findLast((hop, at) => !isUnchanged(hop, hops[at - 1]));

// Return the verdict of a result, and its last hop.
function resultParts(record, last) {
  const kind = verdictKind(record.verdict);
  const probabilities = record.verdict?.probabilities;
  return [
    element("p", { class: `verdict ${kind}` }, element("span", { class: "symbol", "aria-hidden": "true" }, kindSymbol(kind)), ` ${verdictWords(record)}`),
    probabilities ? probabilityList(probabilities) : "",
    record.verdict ? element("p", {}, `${decision(record.verdict)} It may be wrong: read the evidence.`) : "",
    ...(record.verdict ? (record.warnings ?? []) : []).map((warning) => element("p", { class: "warning" }, `Warning: ${warning}`)),
    ...(last ? hopContent(last) : []),
    element("p", { class: "muted" }, stopReason(record.stopped), last ? ` Proof and evidence are those of hop ${last.number}.` : ""),
  ];
}

// Keep the result that is shown, so that the next one stands beside it.
function keep(record, last) {
  const leave = () => {
    byId("kept").hidden = true;
    byId("kept").replaceChildren();
    byId("claim").focus();
  };
  byId("kept").replaceChildren(
    element("h2", {}, "Kept result"),
    element("p", { class: "claim" }, record.claim),
    ...resultParts(record, last),
    element("p", { class: "exports" }, element("button", { type: "button", click: leave }, "Remove the kept result")),
  );
  byId("kept").hidden = false;
  location.hash = "";
  announce("The result is kept. Give the next claim.");
  byId("claim").focus();
  byId("claim").select();
}

// Say what has decided the verdict.
function decision({ probabilities, outweighed, stop_at: needed }) {
  if (!probabilities) return "There is no verifier: the verdict follows from the steps of the proof.";
  const decided = "The probabilities decide. The verifier estimates them from the claim and the evidence; the proof is written for the verdict.";
  const [supported, refuted] = ["SUPPORTS", "REFUTES"].map(verdictWord);
  if (!outweighed) return decided;
  return `${decided} “${verdictWord(outweighed)}” is more probable, but “${supported}” and “${refuted}” together do not reach the ${percent(needed)} that a verdict needs.`;
}

function probabilityList(probabilities) {
  const parts = Object.entries(probabilities).map(([label, value]) => element("div", {}, element("dt", {}, verdictWord(label)), element("dd", {}, percent(value))));
  return element("dl", { class: "probabilities", "aria-label": "Probabilities of the verdicts" }, parts);
}

function ranking(documents) {
  const list = element("ol", { class: "ranking" });
  const add = (ranked) => {
    const origin = ranked.hop ? `hop ${ranked.hop}` : "first stage";
    list.append(element("li", {}, element("a", { href: documentRoute(ranked.title) }, ranked.title), element("span", { class: "muted" }, ` ${origin}, ${ranked.score.toFixed(2)}`)));
  };
  documents.slice(0, SHOWN).forEach(add);
  const rest = documents.slice(SHOWN);
  if (!rest.length) return [list];
  const more = element(
    "button",
    {
      type: "button",
      click: () => {
        rest.forEach(add);
        list.children[SHOWN].querySelector("a").focus();
        more.remove();
      },
    },
    `Show all ${documents.length}`,
  );
  return [list, more];
}

function copyButton() {
  const copy = async (event) => {
    const button = event.currentTarget;
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  };
  // Browsers offer the clipboard on https and on this machine only; elsewhere the address is there.
  return navigator.clipboard ? element("button", { type: "button", click: copy }, "Copy the link") : "";
}
