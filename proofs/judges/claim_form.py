"""Whether a text states something that can be true or false.

Evidence can be found for a question or a name, and the search may stop when it is, but neither is
supported or refuted. The rules name only what is certain: other fragments are taken for claims.
"""

from __future__ import annotations

import re

from proofs.logic.words import STOP_WORDS, split_words, word_list

_FINITE = word_list(
    "is are was were be been being am has have had do does did will would can could may might must"
)
_OPINION = re.compile(
    r"\W*(?:i|we) (?:think|believe|feel|guess|suppose|hope|wish)\b|\W*in my (?:opinion|view)\b",
    re.IGNORECASE,
)
_PROPER = re.compile(r"[A-Z0-9][\w.'’&-]*")


def form_warning(text: str) -> str | None:
    """Return why a text has no verdict, as a sentence for readers, or None if it states something.

    Parameters
    ----------
    text
        What was given as a claim.
    """
    if text.rstrip().rstrip("\"'”’)]").endswith("?"):
        return "This is a question, which is neither true nor false; state it as a claim."
    if _OPINION.match(text):
        return "This is an opinion of the speaker; state what evidence can show."
    words = [text[word.start : word.end] for word in split_words(text) if word.norm]
    plain = [word for word in words if word.lower() not in STOP_WORDS]
    is_name = plain and all(_PROPER.fullmatch(word) for word in plain)
    says_something = any(word.lower() in _FINITE for word in words) or text.rstrip()[-1:] in ".!"
    if is_name and not says_something:
        return "This is a name, which states nothing; write a whole sentence."
    return None
