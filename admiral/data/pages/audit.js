const form = document.querySelector("form");
const claims = [...document.querySelectorAll("article")];
const texts = claims.map((claim) => claim.textContent.toLowerCase());
function filter() {
  const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  claims.forEach((claim, at) => {
    const fits = (!form.decision.value || claim.dataset.decision === form.decision.value)
      && words.every((word) => texts[at].includes(word));
    claim.hidden = !fits;
    shown += fits;
  });
  document.querySelector("output").value = shown + " of " + claims.length + " statements";
}
function move(step) {
  const shown = claims.filter((claim) => !claim.hidden);
  const at = shown.indexOf(document.activeElement.closest("article"));
  const next = shown[at < 0 && step < 0 ? shown.length - 1 : at + step];
  if (next) { next.focus(); next.scrollIntoView({block: "nearest"}); }
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=radio]), select")) return;
  if (event.key === "j" || event.key === "k") { move(event.key === "j" ? 1 : -1); }
  const answer = {a: "accept", r: "reject"}[event.key];
  const claim = document.activeElement.closest("article");
  if (answer && claim) { claim.querySelector(`[value=${answer}]`).click(); }
});
filter();

// The decisions of an editor: kept in this browser, and saved as files.
const script = document.getElementById("data");
const data = JSON.parse(script.textContent);
const place = "audit-" + script.dataset.key;
let stored = {};
try { stored = JSON.parse(localStorage.getItem(place)) || {}; } catch (error) { stored = {}; }
function decision(claim) {
  const input = (name) => claim.querySelector(`[name=${name}]`);
  const answer = claim.querySelector("input:checked");
  const source = input("source");
  return {
    answer: answer ? answer.value : "", note: input("note").value,
    reference: source ? source.value : "",
    url: source && source.value ? source.selectedOptions[0].dataset.url : ""};
}
function show(claim) {
  const {answer} = decision(claim);
  claim.classList.toggle("accepted", answer === "accept");
  claim.classList.toggle("rejected", answer === "reject");
}
function keep(event) {
  const claim = event.target.closest("article");
  if (!claim) return;
  stored[claim.id] = decision(claim);
  show(claim);
  try { localStorage.setItem(place, JSON.stringify(stored)); }
  catch (error) { /* a browser without storage still saves files */ }
}
for (const claim of claims) {
  const kept = stored[claim.id];
  if (kept) {
    for (const input of claim.querySelectorAll("input[type=radio]")) {
      input.checked = input.value === kept.answer;
    }
    claim.querySelector("[name=note]").value = kept.note;
    const source = claim.querySelector("[name=source]");
    if (source) source.value = kept.reference;
  }
  show(claim);
}
document.addEventListener("input", keep);
function accepted() {
  const found = new Map();
  for (const claim of claims) {
    const made = decision(claim);
    if (made.answer === "accept") found.set(claim.id, made.reference);
  }
  return found;
}
// Join the pieces of the page (see page_patch.py).
function patched({pieces, tag}) {
  const references = accepted();
  const marks = pieces.map((piece) => (typeof piece === "string" ? {text: piece} : {...piece}));
  for (const mark of marks) {
    mark.reference = references.get(mark.statement);
    mark.gone = Boolean(mark.reference) && (mark.does === "replace" || mark.does === "drop");
  }
  for (const definition of marks.filter((mark) => mark.defines)) {
    const uses = marks.filter((mark) => (mark.uses || []).includes(definition.defines));
    const left = uses.filter((mark) => !mark.gone);
    const heir = left.find((mark) => mark.uses.length === 1) || left[0];
    if (definition.gone && heir) {
      heir.text = definition.text + (heir.uses.length > 1 ? heir.text : "");
    }
    if (definition.listed && uses.length && !left.length) definition.text = "";
  }
  return marks.map((mark) => {
    if (mark.reference && mark.does === "replace") return mark.reference;
    if (mark.reference && mark.does === "drop") return "";
    if (mark.reference && mark.does === "after") return mark.text + mark.reference;
    return mark.text + (mark.reference === "" && mark.tagged ? tag : "");
  }).join("");
}
function save(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const file = data.page.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "page";
form.decisions.addEventListener("click", () => {
  const decisions = claims.map((claim) => [claim, decision(claim)])
    .filter(([, made]) => made.answer || made.note)
    .map(([claim, made]) => ({...data.statements[claim.id], ...made}));
  const record = {page: data.page, decisions};
  save(JSON.stringify(record, null, 1), "application/json", `decisions-${file}.json`);
});
if (form.patched) {
  form.patched.addEventListener("click", () => {
    save(patched(data.patch), "text/plain", file + data.patch.suffix);
  });
}
