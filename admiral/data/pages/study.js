const study = document.body.dataset.study;
const form = document.querySelector("form");
const items = [...document.querySelectorAll("section[data-item]")];
let stored = {};
try { stored = JSON.parse(localStorage.getItem(study)) || {}; } catch (error) { stored = {}; }
function choice(item) { return item.querySelector(`input[name="${item.dataset.item}"]:checked`); }
function evidence() {
  const given = {};
  for (const item of items) {
    for (const input of item.querySelectorAll("input[data-side]:checked")) {
      (given[item.dataset.item] ||= {})[input.dataset.side] = input.value;
    }
  }
  return given;
}
function answers() {
  const given = {};
  for (const item of items) {
    const chosen = choice(item);
    item.classList.toggle("done", Boolean(chosen));
    if (chosen) { given[item.dataset.item] = chosen.value; }
  }
  return given;
}
function keep() {
  const given = answers();
  const record = {given, evidence: evidence(), annotator: form.annotator.value};
  try { localStorage.setItem(study, JSON.stringify(record)); }
  catch (error) { /* a browser without storage still exports */ }
  document.querySelector("output").value =
    Object.keys(given).length + " of " + items.length + " answered";
}
for (const item of items) {
  const chosen = (stored.given || {})[item.dataset.item];
  const found = (stored.evidence || {})[item.dataset.item] || {};
  for (const input of item.querySelectorAll("input")) {
    input.checked = input.value === (input.dataset.side ? found[input.dataset.side] : chosen);
  }
}
form.annotator.value = stored.annotator || "";
form.addEventListener("change", keep);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const record = {
    study, annotator: form.annotator.value, answers: answers(), evidence: evidence()};
  const link = document.createElement("a");
  const blob = new Blob([JSON.stringify(record, null, 1)], {type: "application/json"});
  link.href = URL.createObjectURL(blob);
  const name = form.annotator.value.replace(/[^A-Za-z0-9-]+/g, "-") || "anonymous";
  link.download = "answers-" + name + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
keep();
