"""The choice of a hop's evidence among the scored sentences."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from admiral.records import Sentence
from admiral.reranking.sentence_scores import best_first, best_scores, z_scores

# Added to the sentences of mentioned documents, in standard deviations of the claim's scores.
_MENTION_BOOST = 0.6
# Both in standard deviations of the documents' best sentence scores: the weight of one standard
# deviation of relevance, and the penalty for each better sentence of the same document.
_RELEVANCE_WEIGHT = 1.0
_REPETITION_PENALTY = 1.0


def boost_mentioned(scored: Sequence[Sentence], mentioned: Collection[str]) -> list[Sentence]:
    """Raise the scores of sentences whose documents the previous evidence mentions.

    A claim describes such a document only indirectly. Being mentioned by the evidence sets its
    sentences apart from those that merely resemble the claim.

    Parameters
    ----------
    scored
        The sentences that were read for a claim.
    mentioned
        The titles that the evidence of the previous hop mentions.

    Returns
    -------
    list
        Best first, with the raised scores.
    """
    titles = set(mentioned)
    deviation = statistics.pstdev([s.score for s in scored]) if scored else 0.0
    return best_first(
        replace(s, score=s.score + _MENTION_BOOST * deviation) if s.title in titles else s
        for s in scored
    )


def reweighted(scored: Sequence[Sentence], relevance: Mapping[str, float]) -> list[Sentence]:
    """Combine sentence scores with the relevance of their documents.

    A sentence covers only a part of the claim, and many sentences resemble that part; the relevance
    of their documents tells them apart. Each further sentence of a document is penalised, to leave
    room for the documents of the other parts.

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
    deviation = (statistics.pstdev(best.values()) if best else 0.0) or 1.0
    relevance_z = z_scores({title: relevance[title] for title in best})
    earlier: Counter[str] = Counter()
    sentences = []
    for sentence in scored:
        change = (
            _RELEVANCE_WEIGHT * relevance_z[sentence.title]
            - _REPETITION_PENALTY * earlier[sentence.title]
        )
        sentences.append(replace(sentence, score=sentence.score + change * deviation))
        earlier[sentence.title] += 1
    return best_first(sentences)


def choose_evidence(
    scored: Sequence[Sentence], count: int, per_document: int
) -> tuple[Sentence, ...]:
    """Return the best `count` sentences, at most `per_document` of one document.

    A document that answers one part of the claim often has several similar sentences. Without the
    limit they would crowd out the documents of the other parts, and a hop can only keep documents
    that have evidence. If too few sentences remain, the best of the others are added.

    Parameters
    ----------
    scored
        Sentences, best first.
    count
        Number of sentences, the paper's `l`.
    per_document
        Maximum number of sentences per document, at least 1.

    Returns
    -------
    tuple
        Best first.
    """
    taken: Counter[str] = Counter()
    within_limit: list[int] = []
    beyond_limit: list[int] = []
    for rank, sentence in enumerate(scored):
        (within_limit if taken[sentence.title] < per_document else beyond_limit).append(rank)
        taken[sentence.title] += 1
    missing = max(count - len(within_limit), 0)
    ranks = sorted([*within_limit, *beyond_limit[:missing]][:count])
    return tuple(scored[rank] for rank in ranks)
