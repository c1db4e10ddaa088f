"""The choice of a hop's evidence among the scored sentences."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from admiral.records import Sentence
from admiral.reranking.sentence_scores import best_first, best_scores, standings

# By how much a mention raises a sentence, in standard deviations of its claim's scores.
_MENTIONED = 0.6
# In standard deviations of the documents' best sentences: what a standard deviation of relevance
# counts, and what a sentence loses for each better one of its document.
_RELEVANCE = 1.0
_REPEATED = 1.0


def favoured(scored: Sequence[Sentence], mentioned: Collection[str]) -> list[Sentence]:
    """Raise the sentences of documents that the evidence so far mentions.

    The claim describes such a document in other words, if at all; that the evidence names it is
    what its sentences have before those that merely look like the claim.

    Parameters
    ----------
    scored
        The sentences that were read for a claim.
    mentioned
        Titles that the evidence of the hop before mentions.

    Returns
    -------
    list
        Best first, with the raised scores.
    """
    titles = set(mentioned)
    spread = statistics.pstdev([s.score for s in scored]) if scored else 0.0
    return best_first(
        replace(s, score=s.score + _MENTIONED * spread) if s.title in titles else s for s in scored
    )


def weighed(scored: Sequence[Sentence], relevance: Mapping[str, float]) -> list[Sentence]:
    """Weigh sentences by how likely their documents belong to the evidence, too.

    A sentence covers but a part of the claim, and many look like that part; what else is known of
    their documents tells these apart, alone where all sentences have one score. What a document
    says besides its best sentence counts the less, so that there is room for the documents of the
    other parts.

    Parameters
    ----------
    scored
        The sentences that were read for a claim, best first.
    relevance
        The score of each of their documents, on any scale.

    Returns
    -------
    list
        Best first, with the new scores.
    """
    best = best_scores(scored)
    spread = (statistics.pstdev(best.values()) if best else 0.0) or 1.0
    worth = standings({title: relevance[title] for title in best})
    before: Counter[str] = Counter()
    found = []
    for sentence in scored:
        change = _RELEVANCE * worth[sentence.title] - _REPEATED * before[sentence.title]
        found.append(replace(sentence, score=sentence.score + change * spread))
        before[sentence.title] += 1
    return best_first(found)


def choose_evidence(
    scored: Sequence[Sentence], count: int, per_document: int
) -> tuple[Sentence, ...]:
    """Return the best `count` sentences, at most `per_document` of one document.

    A document that answers a part of the claim often has several sentences like it; without a
    bound they leave no room for the documents of the other parts, and a hop can keep only
    documents that have evidence. Where too few sentences remain, the best of the others fill up.

    Parameters
    ----------
    scored
        Sentences, best first.
    count
        The paper's `l`.
    per_document
        At least 1.

    Returns
    -------
    tuple
        Best first.
    """
    taken: Counter[str] = Counter()
    chosen: list[int] = []
    others: list[int] = []
    for place, sentence in enumerate(scored):
        (chosen if taken[sentence.title] < per_document else others).append(place)
        taken[sentence.title] += 1
    places = sorted([*chosen, *others[: max(count - len(chosen), 0)]][:count])
    return tuple(scored[place] for place in places)
