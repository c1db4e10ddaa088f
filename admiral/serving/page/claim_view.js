// The view of a claim: a text is split into claims, and hops appear as they are completed.

import { events, post } from "./api.js";
import { remember } from "./claim_history.js";
import { announce, announceError, byId, element } from "./elements.js";
import { hopPanel } from "./hop_view.js";
import { hideResult, showResult } from "./result_view.js";
import { claimAddress, currentRoute } from "./routes.js";
import { showStart } from "./start_view.js";

let running = null; // what stops the claim in progress
let shown = null; // the address whose claim is shown

// Take away what is shown of an earlier claim, and end the search for it.
function leave() {
  running?.abort();
  running = null;
  hideResult();
  byId("hops-found").replaceChildren();
  byId("start").hidden = byId("stop").hidden = true;
}

// Handle a text of the form: one claim is searched for, of several the user chooses one.
export async function submitText() {
  const text = byId("claim").value.trim();
  if (!text) return;
  leave();
  shown = null;
  const { claims } = await (await post("v1/split", { text })).json();
  if (claims.length === 1) {
    byId("choice").hidden = true;
    open(claims[0]);
    return;
  }
  const item = (claim) => element("li", {}, element("button", { type: "button", class: "choice", click: () => open(claim) }, claim));
  byId("choices").replaceChildren(...claims.map(item));
  byId("choice").hidden = false;
  announce(`The text has ${claims.length} claims. Choose one.`);
  byId("choice-heading").focus();
}

// Show a claim by its address, so that the browser's history has it; the same one is searched again.
function open(claim) {
  shown = null;
  const address = claimAddress(claim);
  if (location.hash === address) showClaim(currentRoute());
  else location.hash = address;
}

export function stop() {
  running?.abort();
}

// Search for the claim of the address, unless it is shown already; without one, show the start.
export async function showClaim({ claim, hops }) {
  if (shown === location.hash) return;
  shown = location.hash;
  leave();
  if (!claim) {
    await showStart();
    return;
  }
  const controller = new AbortController();
  running = controller;
  if (byId("choice").hidden) byId("claim").value = claim;
  if (hops) byId("hops").value = hops;
  byId("stop").hidden = false;
  announce(`Searching for evidence: ${claim}`);
  try {
    await search(claim, byId("hops").value, controller.signal);
  } catch (error) {
    if (running !== controller) return; // another claim is shown by now
    shown = null;
    if (controller.signal.aborted) announce("Stopped.");
    else announceError(error);
  } finally {
    if (running === controller) byId("stop").hidden = true;
  }
}

async function search(claim, hops, signal) {
  const kb = byId("kb").value;
  const body = { claim, hops: hops === "dynamic" ? hops : Number(hops), ...(kb ? { kb } : {}) };
  const found = new Map();
  for await (const [name, record, text] of events(await post("v1/retrieve/stream", body, signal))) {
    if (name === "problem") throw new Error(`${record.detail}. ${record.remedy}.`);
    if (name === "hop") {
      found.set(record.number, record);
      showHop(record, found.get(record.number - 1));
      continue;
    }
    const verdict = showResult(record, `${text}\n`, [...found.values()]);
    announce(`Complete after ${record.hops.length} hop${record.hops.length === 1 ? "" : "s"}. ${verdict}`);
    remember({ claim, kb, hops, verdict: record.verdict?.label });
    return;
  }
  throw new Error("The connection was closed. Try again.");
}

// Show a hop; those before it are folded.
function showHop(hop, earlier) {
  const panel = hopPanel(hop, earlier);
  if (panel.open) for (const each of byId("hops-found").querySelectorAll("details")) each.open = false;
  // A hop that is repeated replaces the former one.
  const former = byId(panel.id);
  if (former) former.replaceWith(panel);
  else byId("hops-found").append(panel);
  const missing = hop.questions.map(({ span, question }) => question ?? span).join(" ");
  announce(`Hop ${hop.number} is complete. ${missing ? `Missing: ${missing}` : ""}`);
}
