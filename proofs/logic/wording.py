"""Proofs in words: a sentence for each step, a table in HTML, and questions for what is missing."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from proofs.logic import REFUTING_OPERATORS, NatOp
from proofs.logic.words import (
    ALL_PREPOSITIONS,
    AUXILIARIES,
    MONTHS,
    Quotation,
    Word,
    find_quotation,
    split_words,
    word_list,
)

if TYPE_CHECKING:  # it imports this module
    from proofs.logic.proof import ProofStep


def steps_in_words(
    steps: Iterable[ProofStep], evidence: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield one sentence for each step of a proof.

    `evidence`: pairs of title and sentence; without them, only titles of located steps are named.
    """
    for step, place in cited_steps(steps, evidence):
        sentence = f'"{step.claim}" {step.operator.phrase}'
        title = place.title if place is not None else ""
        quotation = f'"{step.evidence}"' + (f" [{title}]" if title else "")
        if step.operator is NatOp.INDEPENDENCE:
            yield f"{sentence} (closest: {quotation})" if step.evidence else sentence
            continue
        contrast = contrasting_words(step.claim, step.evidence, step.operator)
        ending = ""
        if contrast is not None:
            ending = f': the claim says "{contrast[0]}", the evidence "{contrast[1]}"'
        elif step.operator in REFUTING_OPERATORS and (
            context := _quoted_sentence(step.evidence, title, evidence)
        ):
            ending = f': the evidence says "{context}"'
        yield f"{sentence} {quotation}{ending}"


def _quoted_sentence(quoted: str, title: str, evidence: Sequence[tuple[str, str]]) -> str | None:
    own = [pair for pair in evidence if pair[0] == title]
    place = find_quotation(quoted, own)
    if place is None or place.in_title or quoted == own[place.sentence_id][1]:
        return None
    return own[place.sentence_id][1]


def cited_steps(
    steps: Iterable[ProofStep], evidence: Sequence[tuple[str, str]]
) -> Iterator[tuple[ProofStep, Quotation | None]]:
    """Yield each step with the place of its quotation, None if there is none.

    Where a proof does not say it, it is found by `find_quotation`, and numbered as in `evidence`.
    """
    previous: str | None = None
    for step in steps:
        place = step.quotation
        if place is None and step.evidence:
            place = find_quotation(step.evidence, evidence, previous)
        previous = place.title if place is not None else previous
        yield step, place


def contrasting_words(claim: str, quoted: str, operator: NatOp) -> tuple[str, str] | None:
    """Return the words of the claim and of the evidence that contradict each other.

    They are what remains of both spans without the words that both begin or end with, and without
    stop words: "Iraqi" and "American" of "by an Iraqi comedian" and "an American comedian". The
    result is None if the step is no contradiction, if the spans share no words at their ends, or if
    nothing remains of one of them.
    """
    if operator not in REFUTING_OPERATORS:
        return None
    ours, theirs = _content_part(split_words(claim)), _content_part(split_words(quoted))
    shared = _common_start(ours, theirs)
    ours, theirs = ours[shared:], theirs[shared:]
    at_end = _common_start(ours[::-1], theirs[::-1])
    ours, theirs = ours[: len(ours) - at_end], theirs[: len(theirs) - at_end]
    ours, theirs = _content_part(ours), _content_part(theirs)
    if not (shared or at_end) or not ours or not theirs:
        return None
    return claim[ours[0].start : ours[-1].end], quoted[theirs[0].start : theirs[-1].end]


def _common_start(ours: Sequence[Word], theirs: Sequence[Word]) -> int:
    pairs = zip(ours, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].norm == pair[1].norm, pairs))


def _content_part(words: Sequence[Word]) -> Sequence[Word]:
    content = [at for at, word in enumerate(words) if word.is_content]
    return words[content[0] : content[-1] + 1] if content else []


STYLE = """
.proof { border-collapse: collapse; }
.proof th, .proof td { padding: 0.3em 0.8em; text-align: left; vertical-align: top; }
.proof tr { border-bottom: 1px solid #ccc; border-left: 0.4em solid #ccc; }
.proof .equivalence, .proof .forward { border-left-color: #2a7d4f; }
.proof .negation, .proof .alternation { border-left-color: #b3261e; }
.proof .reverse, .proof .independence { border-left-color: #b07d00; }
.proof cite { color: #666; }
"""


def proof_table(
    steps: Iterable[ProofStep],
    evidence: Sequence[tuple[str, str]] = (),
    styled: bool = True,
) -> str:
    """Return the HTML table of the steps of a proof.

    `evidence`: pairs of title and sentence. The title of the quoted document is shown beside each
    span. `styled`: whether to include the style sheet. A page of many proofs includes `STYLE` once
    instead.
    """
    rows = []
    for step, place in cited_steps(steps, evidence):
        closest = "closest: " if step.operator is NatOp.INDEPENDENCE and step.evidence else ""
        cell = closest + (f"“{escaped(step.evidence)}”" if step.evidence else "")
        cell += f" <cite>{escaped(place.title)}</cite>" if place and place.title else ""
        contrast = contrasting_words(step.claim, step.evidence, step.operator)
        if contrast is not None:
            ours, theirs = map(escaped, contrast)
            cell += f"<br>the claim says “{ours}”, the evidence “{theirs}”"
        rows.append(
            f'<tr class="{step.operator.name.lower()}"><td>“{escaped(step.claim)}”</td>'
            f"<td>{escaped(step.operator.phrase)}</td><td>{cell}</td></tr>\n"
        )
    head = "<tr><th>The claim</th><th></th><th>The evidence</th></tr>\n"
    style = f"<style>{STYLE}</style>\n" if styled else ""
    return f'{style}<table class="proof">\n{head}{"".join(rows)}</table>\n'


def escaped(text: str) -> str:
    """Return a text on one line, escaped for use between HTML tags.

    Changes of writing direction are isolated from the surrounding text. Otherwise as
    `escaped_text`.
    """
    return f"<bdi>{escaped_text(text)}</bdi>"


def escaped_text(text: str) -> str:
    """Return a text on one line, escaped for use where HTML has no elements, such as in SVG.

    Control characters and lone surrogates, which HTML cannot hold, are shown as escapes.
    """
    shown = "".join(
        ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cs", "Cn") else char
        for char in " ".join(text.split())
    )
    return html.escape(shown)


# A noun phrase after these says what something is; it does not ask for another thing.
_COPULAS = word_list("is was are were be been being became becomes become remains as like than not")
_UNASKED = word_list("a an the same similar different other another first last only few lot number")
_RELATIVE = word_list("that which who whom whose where when")
_PEOPLE = word_list(
    """
    actor actress artist astronaut athlete author boxer brother character coach comedian
    composer conductor creator cricketer dancer daughter designer director drummer economist
    editor engineer father filmmaker footballer founder golfer guitarist host husband inventor
    journalist king lawyer leader man manager mathematician mayor mother musician novelist
    officer owner painter philosopher photographer physicist player playwright poet politician
    president producer professor queen rapper scientist screenwriter sculptor singer sister son
    songwriter star swimmer teacher vocalist wife woman wrestler writer
    """
)
# Nouns of which one may ask "which" or "what".
_KINDS = word_list(
    """
    aircraft airport album animal artwork award band battle birthplace book bridge building camp
    capital car channel church city club college comedy company country county district
    documentary drama event festival film game genus group hometown hospital island label lake
    league magazine mountain movie museum musical name nation network newspaper novel opera
    organisation organization painting party place plant play poem program programme province
    publication region restaurant river school series ship show single sitcom site song species
    sport stadium state station story street suburb team theatre thriller title town university
    vehicle version village war work
    """
)
_NOUNS = _PEOPLE | _KINDS
_OPEN_ENDS = word_list("a an the this that his her its their who whose which also by to")
_MONTHS = frozenset(map(str.lower, MONTHS))
_YEAR = re.compile(r"(1[0-9]{3}|20[0-9]{2})s?")
_DAY = re.compile(r"[0-3]?[0-9](st|nd|rd|th)?")
_PUNCTUATION = ".,;:!?\"'“”‘’()[]"
_MOST_WORDS = 12


def question(before: str, span: str) -> str | None:
    """Return a question that asks for what a span of a claim says, or None if no rule fits."""
    words = span.rstrip(".,;:!? ").split()
    lower = [word.strip(_PUNCTUATION).lower() for word in words]
    previous = before.split()[-1].strip(_PUNCTUATION).lower() if before.split() else ""
    prepositions = 0
    while prepositions < len(lower) and lower[prepositions] in ALL_PREPOSITIONS:
        previous = lower[prepositions]
        prepositions += 1
    words, lower = words[prepositions:], lower[prepositions:]
    if not words or len(words) > _MOST_WORDS or span.count('"') % 2:
        return None
    if _is_date(lower, previous):
        return "When?"
    if previous in _COPULAS or lower[-1] in ALL_PREPOSITIONS or not _is_phrase(lower):
        return None
    article, rest = lower[0], " ".join(words[1:])
    if len(words) < 2 or lower[1] in _UNASKED or not _NOUNS & set(_head(lower)):
        return None
    if article in ("a", "an"):
        return f"Which {rest}?"
    if article == "the" and _is_of_a_name(words):
        who = "Who" if _PEOPLE & set(lower[1 : lower.index("of")]) else "What"
        return f"{who} is the {rest}?"
    return None


def _head(words: Sequence[str]) -> Sequence[str]:
    ends = (at for at, word in enumerate(words) if word in ALL_PREPOSITIONS | _RELATIVE)
    return words[: next(ends, len(words))]


def _is_of_a_name(words: Sequence[str]) -> bool:
    """Return whether a phrase such as "the author of The Bell Jar" ends with a whole name."""
    if "of" not in words[2:] or words[1][0].isupper():
        return False
    name = words[words.index("of") + 1 :]
    return all(word[0].isupper() or word in ("the", "of", "and") for word in name)


def _is_date(words: Sequence[str], previous: str) -> bool:
    """Return whether lower-case words are a date, a month after "in", or a year."""
    if len(words) == 1 and words[0] in _MONTHS and previous != "in":
        return False
    known = [bool(_YEAR.fullmatch(word)) or word in _MONTHS for word in words]
    others = (bool(_DAY.fullmatch(word)) or word == "of" for word in words)
    return any(known) and all(a or b for a, b in zip(known, others, strict=True))


def _is_phrase(words: Sequence[str]) -> bool:
    """Return whether lower-case words have no verb outside a relative clause, and no open end."""
    if words[-1].endswith(("ed", "ing")) or words[-1] in _OPEN_ENDS:
        return False
    for at, word in enumerate(words):
        if word in _RELATIVE:
            return at + 1 < len(words)
        if word in AUXILIARIES or word in ("and", "or"):
            return False
    return True
