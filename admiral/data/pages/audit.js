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
  if (event.target.closest("input, select")) return;
  if (event.key === "j" || event.key === "k") { move(event.key === "j" ? 1 : -1); }
});
filter();
