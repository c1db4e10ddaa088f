"""The page of a blind study: for each claim two passages without names, and three choices.

It works offline, loads nothing, keeps the answers in the browser and exports them as JSON.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

from admiral.citations.audit_page import claim_html
from admiral.citations.study_items import StudyItem, study_name
from admiral.io.judgement_page import page_head
from proofs.logic.wording import escaped

_CHOICES = (
    ("first", "the first source"),
    ("second", "the second source"),
    ("neither", "neither of them"),
)
_STYLE = """
:root { color-scheme: light dark; --line: #c9c9c9; --dim: #595959; --soft: #f4f4f4;
  --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --line: #4a4a4a; --dim: #b0b0b0; --soft: #232323; --link: #8ab4f8; } }
body { font-family: sans-serif; line-height: 1.5; max-width: 70em; margin: auto; padding: 1em;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5em; } h2 { font-size: 1.05em; margin: 0 0 0.4em; } .dim { color: var(--dim); }
.small { font-size: 0.85em; } .rest { color: var(--dim); } .claim { font-size: 1.08em; }
section { border: 1px solid var(--line); border-radius: 0.4em; padding: 0.8em 1em; margin: 1em 0; }
section.done { border-left: 0.5em solid var(--link); }
.sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1em; }
@media (max-width: 44em) { .sides { grid-template-columns: minmax(0, 1fr); } }
.sides div { background: var(--soft); border-radius: 0.4em; padding: 0.5em 0.8em; }
fieldset { border: 0; padding: 0.6em 0 0; margin: 0; display: flex; flex-wrap: wrap; gap: 1.2em; }
legend { padding: 0; font-weight: bold; } label { cursor: pointer; }
button, input[type=text] { font: inherit; padding: 0.4em 0.9em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
footer { position: sticky; bottom: 0; background: Canvas; border-top: 1px solid var(--line);
  padding: 0.7em 0; display: flex; flex-wrap: wrap; gap: 1em; align-items: center; }
"""
_SCRIPT = """
const study = document.body.dataset.study;
const form = document.querySelector("form");
const items = [...document.querySelectorAll("section[data-item]")];
let stored = {};
try { stored = JSON.parse(localStorage.getItem(study)) || {}; } catch (error) { stored = {}; }
function answers() {
  const given = {};
  for (const item of items) {
    const chosen = item.querySelector("input:checked");
    item.classList.toggle("done", Boolean(chosen));
    if (chosen) { given[item.dataset.item] = chosen.value; }
  }
  return given;
}
function keep() {
  const given = answers();
  try { localStorage.setItem(study, JSON.stringify({given, annotator: form.annotator.value})); }
  catch (error) { /* a browser without storage still exports */ }
  document.querySelector("output").value =
    Object.keys(given).length + " of " + items.length + " answered";
}
for (const item of items) {
  const choice = (stored.given || {})[item.dataset.item];
  for (const input of item.querySelectorAll("input")) { input.checked = input.value === choice; }
}
form.annotator.value = stored.annotator || "";
form.addEventListener("change", keep);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const record = {study, annotator: form.annotator.value, answers: answers()};
  const link = document.createElement("a");
  const blob = new Blob([JSON.stringify(record, null, 1)], {type: "application/json"});
  link.href = URL.createObjectURL(blob);
  const name = form.annotator.value.replace(/[^A-Za-z0-9-]+/g, "-") || "anonymous";
  link.download = "answers-" + name + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
keep();
"""


def study_page(items: Sequence[StudyItem]) -> Iterator[str]:
    """Yield the HTML of a study in parts; it does not say which source is which.

    `items`: the items, in the order in which they are shown.
    """
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = page_head("Which source would you cite?", _STYLE, policy)
    yield head.replace("<body>", f'<body data-study="{study_name(items)}">')
    yield (
        "<h1>Which source would you cite?</h1>\n<p>Each statement is shown in its context, in "
        "bold. Read the two passages and choose the source that you would cite for it, or neither. "
        "The sources are in random order. Answers are kept in this browser; save them at the end."
        "</p>\n"
        "<form>\n"
    )
    for number, item in enumerate(items, 1):
        yield _item(number, item)
    yield (
        '<footer><label>Your name or a nickname <input type="text" name="annotator"></label>'
        '<button type="submit">Save answers as a file</button> <output></output></footer>\n'
        "</form>\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _item(number: int, item: StudyItem) -> str:
    place = " › ".join(filter(None, [item.claim.page, *item.claim.section]))
    choices = "".join(
        f'<label><input type="radio" name="{item.name}" value="{value}"> {words}</label>\n'
        for value, words in _CHOICES
    )
    first, second = map(escaped, item.passages)
    return (
        f'<section data-item="{item.name}">\n<h2>{number}. {escaped(place)}</h2>\n'
        f'<p class="claim">{claim_html(item.claim)}</p>\n<div class="sides">\n'
        f"<div><b>First source</b><p>{first}</p></div>\n"
        f"<div><b>Second source</b><p>{second}</p></div>\n</div>\n"
        f"<fieldset><legend>I would cite</legend>\n{choices}</fieldset>\n</section>\n"
    )
