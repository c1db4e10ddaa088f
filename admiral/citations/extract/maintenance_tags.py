"""Maintenance tags of citations: the names of their templates, and of their marks in HTML."""

from __future__ import annotations

import re

# Tag -> names of its template and of the redirects to it, in lower case.
_NAMES = {
    "failed-verification": (
        "failed verification",
        "failed verification span",
        "fv",
        "nicg",
        "not in citation",
        "not in citation given",
        "not in ref",
        "not in reference",
        "not in source",
        "notincitation",
    ),
    "dead-link": (
        "dead link",
        "dead links",
        "deadlink",
        "broken link",
        "link broken",
        "permanent dead link",
    ),
    "better-source-needed": (
        "better source needed",
        "better source",
        "bsn",
        "better reference needed",
        "better citation needed",
        "primary source inline",
        "non-primary source needed",
        "third-party source needed",
    ),
    "citation-needed": (
        "citation needed",
        "citation needed span",
        "cn",
        "fact",
        "facts",
        "fact or opinion",
        "cn span",
        "needs citation",
        "need citation",
        "source needed",
        "sourceme",
        "source?",
        "citeneeded",
        "cite needed",
        "uncited",
        "unreferenced inline",
        "reference needed",
        "ref needed",
        "refneeded",
        "citation requested",
    ),
    "unreliable-source": (
        "unreliable source",
        "unreliable source?",
        "unreliable source inline",
        "unreliable inline",
        "rs?",
        "reliable source?",
        "reliable?",
        "unreliable?",
        "unreliable medical source",
        "medrs",
        "self-published inline",
        "self-published source",
        "self-published source?",
        "deprecated inline",
        "user-generated inline",
        "user-generated source",
    ),
    "verify-source": (
        "verify source",
        "verify inline",
        "verification needed",
        "verify",
        "source verify",
        "vs",
        "vn",
        "check source",
        "needs verification",
        "verify quote",
        "verify credibility",
    ),
    "original-research": ("original research inline", "or inline", "original research?"),
    "dubious": ("dubious", "dubious inline", "disputed inline", "disputed-inline"),
    "page-needed": ("page needed", "page number needed", "pn", "page?"),
}
#: The tags that readers know.
TAGS = tuple(_NAMES)
_TAG_OF = {name: tag for tag, names in _NAMES.items() for name in names}


def tag_of(name: str) -> str:
    """Return the tag that a template, or the text of a mark, stands for; empty for others.

    Parameters
    ----------
    name
        Name or text in any case, with spaces, hyphens or underscores between words.
    """
    words = " ".join(re.sub(r"[\s_]+", " ", name).casefold().split())
    return _TAG_OF.get(words) or _TAG_OF.get(words.replace("-", " "), "")
