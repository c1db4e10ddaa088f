"""Proof steps in words: what the claim says, and what which document says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from proofs.logic.operators import REFUTING_OPERATORS, NatOp
from proofs.logic.words import Word, split_words

Triple = tuple[str, str, NatOp]


def steps_in_words(
    steps: Iterable[Triple], evidence: Sequence[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield one sentence for each step of a proof.

    Parameters
    ----------
    steps
        (claim span, evidence span, operator) triples.
    evidence
        Pairs of title and sentence; without them, no titles are named.
    """
    for (claim, quoted, operator), title in cited_steps(steps, evidence):
        sentence = f'"{claim}" {operator.phrase}'
        quotation = f'"{quoted}"' + (f" [{title}]" if title else "")
        if operator is NatOp.INDEPENDENCE:
            yield f"{sentence} (closest: {quotation})" if quoted else sentence
            continue
        contrast = contrasting_words(claim, quoted, operator)
        ending = ""
        if contrast is not None:
            ending = f': the claim says "{contrast[0]}", the evidence "{contrast[1]}"'
        elif operator in REFUTING_OPERATORS and (
            context := _quoted_sentence(quoted, title, evidence)
        ):
            ending = f': the evidence says "{context}"'
        yield f"{sentence} {quotation}{ending}"


def _quoted_sentence(
    quoted: str, title: str | None, evidence: Sequence[tuple[str, str]]
) -> str | None:
    """Return the sentence of a document that holds a quotation; None if it is the quotation."""
    for document, sentence in evidence:
        if document == title and _whole_words(quoted).search(sentence) and quoted != sentence:
            return sentence
    return None


def _whole_words(quoted: str) -> re.Pattern[str]:
    """Return a pattern of whole words: "art" is not quoted from "started"."""
    return re.compile(rf"(?<!\w){re.escape(quoted)}(?!\w)")


def cited_steps(
    steps: Iterable[Triple], evidence: Sequence[tuple[str, str]]
) -> Iterator[tuple[Triple, str | None]]:
    """Yield each step with the title of the document that it quotes, None if there is none.

    If several documents contain the span, the one that the step before quotes is preferred, then
    the first with the span in a sentence, then the first with the span in its title.
    """
    previous: str | None = None
    for step in steps:
        quoted = step[1]
        title = None
        if quoted:
            whole = _whole_words(quoted)
            in_sentences = [title for title, sentence in evidence if whole.search(sentence)]
            titles = [*in_sentences, *(title for title, _ in evidence if whole.search(title))]
            title = previous if previous in titles else next(iter(titles), None)
        previous = title or previous
        yield step, title


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
    """Return how many words two lists begin with in common."""
    pairs = zip(ours, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].norm == pair[1].norm, pairs))


def _content_part(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words without stop words and punctuation at both ends."""
    content = [at for at, word in enumerate(words) if word.is_content]
    return words[content[0] : content[-1] + 1] if content else []
