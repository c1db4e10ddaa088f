// A hop: its evidence by document with the quotations of the proof, the proof, what is missing.

import { element, units } from "./elements.js";
import { documentRoute } from "./routes.js";
import { operatorKind, operatorPhrase, percent } from "./wording.js";

// Return whether a hop has the evidence, the proof and the verdict of the one before it.
export function isUnchanged(hop, earlier) {
  const found = (each) => {
    const sentences = each?.evidence.map(({ title, sentence_id }) => [title, sentence_id]);
    return JSON.stringify([sentences, each?.proof, each?.verdict]);
  };
  return found(hop) === found(earlier);
}

// Return a hop that can be folded, or one line if it has changed nothing.
export function hopPanel(hop, earlier) {
  const id = `hop-${hop.number}`;
  if (isUnchanged(hop, earlier)) {
    const line = `Hop ${hop.number} changed nothing: it has the evidence of hop ${earlier.number}.`;
    return element("p", { class: "panel unchanged", id }, line);
  }
  const heading = element("h2", {}, `Hop ${hop.number}`);
  return element("details", { class: "panel", id, open: true }, element("summary", {}, heading, ` ${sufficiency(hop)}`), ...hopContent(hop));
}

// Return the proof and the evidence of a hop.
export function hopContent(hop) {
  const sets = hop.document_sets.slice(0, 3).map((set) => set.titles.join(" + "));
  return [
    ...(hop.comparisons ?? []).map(({ reason }) => element("p", {}, `Decided by comparison: ${reason}`)),
    hop.conflict ? element("p", {}, conflict(hop)) : "",
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h3", {}, "Proof"), proofTable(hop), missing(hop)),
      element("div", {}, element("h3", {}, "Evidence"), evidence(hop)),
    ),
    sets.length ? element("p", { class: "muted" }, `Best document sets: ${sets.join("; ")}`) : "",
  ];
}

function sufficiency({ sufficient, probability, verdict }) {
  const needed = verdict?.stop_at;
  if (sufficient) return `The evidence is sufficient${probability === undefined ? "" : ` (probability ${percent(probability)})`}.`;
  let note = "";
  if (probability !== undefined && needed === undefined) note = ` (probability that it is: ${percent(probability)})`;
  else if (probability < needed) note = ` (probability that it is: ${percent(probability, needed)}; needed: ${percent(needed)})`;
  else if (probability >= needed) note = " (no other verdict is as probable)";
  return `The evidence is not yet sufficient${note}.`;
}

function conflict(hop) {
  const [one, other] = [hop.conflict.supporting, hop.conflict.refuting].map(({ title, sentence_id }) => {
    const found = hop.evidence.find((sentence) => sentence.title === title && sentence.sentence_id === sentence_id);
    return `“${found.text}” (${title})`;
  });
  return `The evidence contradicts itself: ${one} speaks for the claim, ${other} against it.`;
}

// Return the table of the steps. A step with the pointer or the focus lights its quotation.
function proofTable(hop) {
  if (!hop.proof) return element("p", {}, "There is no proof.");
  const rows = hop.proof.map((step, at) => {
    const number = at + 1;
    const kind = operatorKind(step.operator);
    const { title } = step;
    const contrast = hop.contrasts[at];
    const light = (on) => (event) => lightStep(event.currentTarget.closest(".panel"), number, on);
    return element(
      "tr",
      {
        ...{ tabindex: "0", class: kind, "data-step": number },
        ...{ mouseenter: light(true), focus: light(true), mouseleave: light(false), blur: light(false) },
      },
      element("td", { class: "number" }, String(number)),
      element("td", {}, step.claim),
      element("td", {}, element("span", { class: "symbol", "aria-hidden": "true" }, step.operator), ` ${operatorPhrase(step.operator)}`),
      element(
        "td",
        {},
        step.evidence ? `“${step.evidence}”` : "–",
        title ? element("span", { class: "muted" }, ` ${title}`) : null,
        contrast ? element("p", { class: "contrast" }, `The claim says “${contrast[0]}”, the evidence “${contrast[1]}”.`) : null,
      ),
    );
  });
  const heads = ["Step", "The claim", "Relation", "The evidence"].map((head) => element("th", { scope: "col" }, head));
  return element(
    "div",
    { class: "scroll" },
    element("table", { class: "proof" }, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)),
  );
}

function lightStep(panel, number, on) {
  for (const lit of panel.querySelectorAll("mark, tr[data-step]")) {
    const steps = (lit.dataset.steps ?? lit.dataset.step).split(" ");
    if (steps.includes(String(number))) lit.classList.toggle("lit", on);
  }
}

function missing(hop) {
  if (!hop.questions.length) return null;
  const items = hop.questions.map(({ span, question }) =>
    element("li", {}, question ?? `What about “${span}”?`, question ? element("span", { class: "muted" }, ` (“${span}”)`) : null),
  );
  return [element("h3", {}, "Missing"), element("ul", { class: "missing" }, items)];
}

function evidence(hop) {
  const quotations = (hop.proof ?? [])
    .map((step, at) => ({ ...step, number: at + 1 }))
    .filter((step) => step.evidence && !step.in_title);
  const groups = Map.groupBy(hop.evidence, (sentence) => sentence.title);
  return [...groups].map(([title, sentences]) =>
    element(
      "article",
      {},
      element("h4", {}, element("a", { href: documentRoute(title, sentences[0].sentence_id) }, title)),
      sentences.map((sentence) =>
        element(
          "p",
          {},
          element("a", { class: "sentence", href: documentRoute(title, sentence.sentence_id), "aria-label": `Sentence ${sentence.sentence_id} in its document` }, String(sentence.sentence_id)),
          " ",
          marked(sentence.text, quotations.filter((quotation) => quotation.title === title && quotation.sentence_id === sentence.sentence_id)),
        ),
      ),
    ),
  );
}

// Split a text into texts and <mark> elements; each names the steps that quote it.
function marked(text, quotations) {
  const found = quotations.map((quotation) => ({ ...quotation, start: units(text, quotation.evidence_start), end: units(text, quotation.evidence_end) }));
  const edges = [...new Set([0, text.length, ...found.flatMap((f) => [f.start, f.end])])].sort((a, b) => a - b);
  return edges.slice(1).map((end, index) => {
    const part = text.slice(edges[index], end);
    const quoting = found.filter((f) => f.start < end && f.end > edges[index]);
    if (!quoting.length) return part;
    const steps = quoting.map((f) => f.number).join(" ");
    return element(
      "mark",
      {
        ...{ class: operatorKind(quoting[0].operator), "data-steps": steps },
        mouseenter: (event) => quoting.forEach((f) => lightStep(event.currentTarget.closest(".panel"), f.number, true)),
        mouseleave: (event) => quoting.forEach((f) => lightStep(event.currentTarget.closest(".panel"), f.number, false)),
      },
      part,
    );
  });
}
