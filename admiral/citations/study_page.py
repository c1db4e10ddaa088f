"""The page of a blind study: for each claim two passages without names, and three choices.

It works offline, loads nothing, keeps the answers in the browser and exports them as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from admiral.citations.audit_page import claim_html
from admiral.citations.study_items import StudyItem, study_name
from admiral.io.judgement_page import page_file, page_head, script_policy
from proofs.logic.wording import escaped

_CHOICES = (
    ("first", "the first source"),
    ("second", "the second source"),
    ("neither", "neither of them"),
)
_STYLE = page_file("study.css")
_SCRIPT = page_file("study.js")


def study_page(items: Sequence[StudyItem]) -> Iterator[str]:
    """Yield the HTML of a study in parts; it does not say which source is which.

    `items`: the items, in the order in which they are shown.
    """
    head = page_head("Which source would you cite?", _STYLE, script_policy(_SCRIPT))
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
