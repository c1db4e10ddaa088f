"""The style sheet and the script of the report."""

STYLE = """
:root { color-scheme: light dark; --line: #d0d0d0; --dim: #5c5c5c; --soft: #f3f3f3;
  --gold: #dff0e3; --bad: #b3261e; --good: #2a7d4f; --mid: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444; --dim: #aaa; --soft: #232323; --gold: #1f3a28; --bad: #f2867e;
    --good: #7cc79a; --mid: #dfb45c; } }
body { font-family: sans-serif; line-height: 1.4; max-width: 76em; margin: auto; padding: 1em;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; } h3 { font-size: 1em; margin: 1em 0 0.3em; }
.scroll { overflow-x: auto; }
.summary { border-collapse: collapse; }
.summary th, .summary td { padding: 0.25em 0.7em; border-bottom: 1px solid var(--line);
  text-align: right; }
.summary th:first-child { text-align: left; }
form { display: flex; flex-wrap: wrap; gap: 0.6em; align-items: end; padding: 0.6em 0;
  position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--line); }
label { display: grid; font-size: 0.85em; color: var(--dim); }
input, select { font: inherit; padding: 0.3em; max-width: 100%; }
details { border: 1px solid var(--line); border-radius: 0.4em; margin: 0.6em 0; }
summary { cursor: pointer; padding: 0.6em; }
details[open] > summary { border-bottom: 1px solid var(--line); background: var(--soft); }
.facts { display: block; font-size: 0.85em; color: var(--dim); }
.stage { font-weight: bold; } .found { color: var(--good); } .failed { color: var(--bad); }
.neutral { color: var(--mid); }
.sides { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 1fr); gap: 1.5em;
  padding: 0 0.8em 0.8em; }
@media (max-width: 50em) { form { position: static; }
  .sides { grid-template-columns: minmax(0, 1fr); gap: 0; } }
.connections { padding: 0 0.8em 0.8em; }
ul, ol { padding-left: 1.4em; margin: 0.3em 0; }
.gold { background: var(--gold); }
cite, .dim { color: var(--dim); }
.proof { font-size: 0.9em; } .proof cite { color: var(--dim); }
.proof tr { border-bottom-color: var(--line); }
.proof tr:first-child { border-left-color: var(--line); }
.proof td { overflow-wrap: normal; }
"""

SCRIPT = """
const form = document.querySelector("form");
const claims = [...document.querySelectorAll("details")];
const texts = claims.map((claim) => claim.textContent.toLowerCase());
function filter() {
  const words = form.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  claims.forEach((claim, at) => {
    const fits = (!form.stage.value || claim.dataset.stage === form.stage.value)
      && (!form.hops.value || claim.dataset.hops === form.hops.value)
      && words.every((word) => texts[at].includes(word));
    claim.hidden = !fits;
    shown += fits;
  });
  document.querySelector("output").value = shown + " of " + claims.length + " claims";
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
"""
