"""Claims with evidence that suffices and evidence that does not, to fit and compare judges on.

Of each claim there are two versions: all gold sentences, and the same without one gold document.
Both are filled up with sentences of other documents that BM25 finds for the claim, so that their
number says nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from admiral.gold import GoldClaim
from training.data.corpora_of_claims import Corpus, holds_gold

# Where distractors come from: documents of the first stage, and sentences of each.
_DOCUMENTS, _SENTENCES = 8, 3
_CANDIDATES = 20
_BATCH = 256
# Of sentences that serve as claims: most words, most distractors.
_LONGEST, _CLAIM_DISTRACTORS = 30, 4


@dataclass(frozen=True, slots=True)
class LabelledEvidence:
    """A claim, evidence as pairs of title and sentence, and whether it suffices.

    Attributes
    ----------
    documents
        Number of the claim's gold documents, the withheld one included.
    """

    claim: str
    evidence: tuple[tuple[str, str], ...]
    sufficient: bool
    documents: int


def labelled_evidence(
    corpus: Corpus, claims: Iterable[GoldClaim], *, sentences: int = 5, seed: int = 0
) -> Iterator[LabelledEvidence]:
    """Yield each claim with sufficient evidence, then with insufficient evidence.

    A claim is drawn for by itself: the same seed gives it the same evidence whatever the others
    are. Claims whose gold sentences the corpus lacks are left out.

    Parameters
    ----------
    corpus
        Where the gold sentences and the distractors stand.
    claims
        Claims with gold sentences.
    sentences
        Sentences of each version; more only where there are more gold ones.
    seed
        Says which document is withheld, which distractors are drawn, and the order.
    """
    known = (one for one in claims if holds_gold(corpus, one))
    for group in _groups(known):
        found = corpus.search([claim.claim for claim in group], _CANDIDATES)
        for claim, candidates in zip(group, found, strict=True):
            others = [c.title for c in candidates if c.title not in claim.titles][:_DOCUMENTS]
            pool = [(t, s) for t in others for s in corpus.document(t).sentences[:_SENTENCES]]
            yield from _versions(
                corpus, claim, pool, sentences, random.Random(f"{seed} {claim.claim}")
            )


def own_sentences(
    labelled: Iterable[LabelledEvidence], seed: int = 0
) -> Iterator[LabelledEvidence]:
    """Yield sentences of the evidence as claims, with their own document and without it.

    They need one document only: what is fitted on gold claims of several must not learn that
    evidence without links between documents never suffices. Sentences that do not name their
    document, and long ones, make no claims.
    """
    for one in labelled:
        if not one.evidence:
            continue
        rng = random.Random(f"{seed} {one.claim} {one.sufficient}")
        title, sentence = rng.choice(one.evidence)
        if title not in sentence or len(sentence.split()) > _LONGEST:
            continue
        others = [pair for pair in one.evidence if pair[0] != title]
        others = others[: rng.randint(0, _CLAIM_DISTRACTORS)]
        full = [(title, sentence), *others]
        rng.shuffle(full)
        yield LabelledEvidence(sentence, tuple(full), True, 1)
        if others:
            yield LabelledEvidence(sentence, tuple(others), False, 1)


def _versions(
    corpus: Corpus,
    claim: GoldClaim,
    pool: list[tuple[str, str]],
    sentences: int,
    rng: random.Random,
) -> Iterator[LabelledEvidence]:
    gold = [(title, corpus.document(title).sentences[index]) for title, index in claim.sentences]
    withheld = rng.choice(claim.titles)
    rng.shuffle(pool)
    for sufficient in (True, False):
        kept = gold if sufficient else [pair for pair in gold if pair[0] != withheld]
        evidence = kept + pool[: max(sentences - len(kept), 0)]
        rng.shuffle(evidence)
        yield LabelledEvidence(claim.claim, tuple(evidence), sufficient, len(claim.titles))


def _groups(claims: Iterator[GoldClaim]) -> Iterator[Sequence[GoldClaim]]:
    while group := list(islice(claims, _BATCH)):
        yield group
