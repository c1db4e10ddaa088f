// The view of claims: hops appear as they are completed, and several claims become a list.

import { post } from "./api.js";
import { claimsOf } from "./claim_file.js";
import { remember } from "./claim_history.js";
import { checkList, isListed, leaveList, listedResult } from "./claim_list.js";
import { announce, announceError, byId } from "./elements.js";
import { hopPanel } from "./hop_view.js";
import { hideResult, showResult } from "./result_view.js";
import { retrieve } from "./retrieval.js";
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
  byId("start").hidden = true;
  leaveProgress();
}

function leaveProgress() {
  byId("stop").hidden = true;
  byId("stage").textContent = "";
}

// Handle the form: one claim is searched for, several become a list.
export async function submitClaims() {
  leave();
  leaveList();
  shown = null;
  const submission = new AbortController();
  running = submission;
  const claims = await givenClaims();
  if (running !== submission) return; // something else is shown by now
  if (claims.length === 1) {
    open(claims[0]);
    return;
  }
  location.hash = "";
  await checkList(claims);
}

async function givenClaims() {
  const [file] = byId("file").files;
  if (file) return claimsOf(file);
  const text = byId("claim").value.trim();
  if (!text) throw new Error("There is no claim. Type one, or choose a file.");
  return (await (await post("v1/split", { text })).json()).claims;
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
    if (!isListed()) await showStart();
    return;
  }
  if (!isListed()) byId("claim").value = claim;
  if (hops) byId("hops").value = hops;
  const known = listedResult(location.hash);
  if (known) {
    known.hops.forEach((hop, at) => showHop(hop, known.hops[at - 1]));
    announce(showResult(known));
    byId("result-heading").focus();
    return;
  }
  await search(claim);
}

async function search(claim) {
  const controller = new AbortController();
  running = controller;
  const settings = { claim, hops: byId("hops").value, kb: byId("kb").value };
  byId("stop").hidden = false;
  announce(`Searching for evidence: ${claim}`);
  try {
    const onHop = (hop, earlier) => {
      showHop(hop, earlier);
      const missing = hop.questions.map(({ span, question }) => question ?? span).join(" ");
      announce(`Hop ${hop.number} is complete. ${missing ? `Missing: ${missing}` : ""}`);
    };
    // Stages are too many for screen readers.
    const onStage = (stage) => { byId("stage").textContent = stage; };
    const result = await retrieve(settings, controller.signal, onHop, onStage);
    const said = showResult(result);
    const { length } = result.record.hops;
    announce(`Complete after ${length} hop${length === 1 ? "" : "s"}. ${said}`);
    remember({ ...settings, said });
  } catch (error) {
    if (running !== controller) return; // another claim is shown by now
    shown = null;
    if (controller.signal.aborted) announce("Stopped.");
    else announceError(error);
  } finally {
    if (running === controller) leaveProgress();
  }
}

// Show a hop; those before it are folded.
function showHop(hop, earlier) {
  const panel = hopPanel(hop, earlier);
  if (panel.open) for (const each of byId("hops-found").querySelectorAll("details")) each.open = false;
  // A hop that is repeated replaces the former one.
  const former = byId(panel.id);
  if (former) former.replaceWith(panel);
  else byId("hops-found").append(panel);
}
