"""The style sheet and the script of the audit page."""

STYLE = """
:root { color-scheme: light dark; --line: #c9c9c9; --dim: #595959; --soft: #f4f4f4;
  --bad: #a13d00; --bad-soft: #fbe6d6; --good: #00558c; --good-soft: #dcebf7; --mid: #6b5a00;
  --mark: #fff0a8; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --line: #4a4a4a; --dim: #b0b0b0; --soft: #232323; --bad: #ff9d5c; --bad-soft: #43230c;
    --good: #7cc0f5; --good-soft: #10304a; --mid: #e0c766; --mark: #5a4b00; --link: #8ab4f8; } }
body { font-family: sans-serif; line-height: 1.45; max-width: 78em; margin: auto; padding: 1em;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5em; margin: 0.3em 0; } h2 { font-size: 1.2em; margin: 1.6em 0 0.4em; }
h3 { font-size: 0.95em; margin: 0.8em 0 0.3em; }
a { color: var(--link); } a:focus-visible, summary:focus-visible, input:focus-visible,
select:focus-visible, article:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.dim { color: var(--dim); } .small { font-size: 0.85em; }
.counts { display: flex; flex-wrap: wrap; gap: 0.5em; list-style: none; padding: 0; }
.counts li { border: 1px solid var(--line); border-radius: 0.4em; padding: 0.3em 0.7em; }
form { display: flex; flex-wrap: wrap; gap: 0.8em; align-items: end; padding: 0.6em 0;
  position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--line); z-index: 1; }
label { display: grid; font-size: 0.85em; color: var(--dim); }
input, select { font: inherit; padding: 0.3em; max-width: 100%; }
article { border: 1px solid var(--line); border-left: 0.5em solid var(--line);
  border-radius: 0.4em; margin: 0.8em 0; padding: 0.6em 0.9em; scroll-margin-top: 6em; }
article.bad { border-left-color: var(--bad); } article.good { border-left-color: var(--good); }
article.mid { border-left-color: var(--mid); border-left-style: double; }
.decision { font-weight: bold; } .bad > .decision { color: var(--bad); }
.good > .decision { color: var(--good); } .mid > .decision { color: var(--mid); }
.claim { font-size: 1.08em; margin: 0.4em 0; } .claim .rest { color: var(--dim); }
.lacks { text-decoration: underline wavy var(--bad); text-underline-offset: 0.2em;
  background: var(--bad-soft); }
.sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.2em; }
@media (max-width: 48em) { .sides { grid-template-columns: minmax(0, 1fr); gap: 0; }
  form { position: static; } }
.source { background: var(--soft); border-radius: 0.4em; padding: 0.5em 0.8em; margin: 0.4em 0; }
.source p { margin: 0.3em 0; } mark { background: var(--mark); color: inherit; }
.best { font-weight: bold; }
.gauge { display: inline-block; width: 6em; height: 0.6em; border: 1px solid var(--line);
  border-radius: 0.3em; vertical-align: middle; overflow: hidden; background: Canvas; }
.gauge span { display: block; height: 100%; background: var(--good); }
.gauge .low { background: var(--bad); }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
th, td { text-align: left; vertical-align: top; padding: 0.2em 0.6em 0.2em 0;
  border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
summary { cursor: pointer; color: var(--dim); } [hidden] { display: none; }
kbd { border: 1px solid var(--line); border-radius: 0.2em; padding: 0 0.3em; }
@media print { form { display: none; } article { break-inside: avoid; } }
"""

SCRIPT = """
const form = document.querySelector("form");
const claims = [...document.querySelectorAll("article")];
const texts = claims.map((claim) => claim.textContent.toLowerCase());
function filter() {
  const words = form.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
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
"""
