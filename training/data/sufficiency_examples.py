"""Claims with sufficient and with insufficient evidence, to fit and to compare judges.

Of each claim with gold sentences there are two examples: one with all gold sentences, and one
without the sentences of one gold document. Both are filled up with distractors, sentences of other
documents that BM25 retrieves for the claim, so that the number of sentences reveals nothing.

Distractors from BM25 are easy to tell from evidence; sentences that hops select are not. A judge
that decides when hops end must handle both, so there are also examples of selected evidence.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from admiral import Admiral, Claim
from admiral.gold import GoldClaim
from admiral.gold.gold_claims import Label
from admiral.retrieval.state import SearchState
from training.data.evidence_corpora import Corpus, holds_gold

_CANDIDATES = 20  # documents that BM25 retrieves for a claim
# Distractors are the first sentences of the best documents.
_DISTRACTOR_DOCUMENTS, _DISTRACTOR_SENTENCES = 8, 3
_BATCH_SIZE = 256  # claims that are searched together
# Limits of sentences that serve as claims: their words, and their distractors.
_MAX_CLAIM_WORDS, _MAX_CLAIM_DISTRACTORS = 30, 4


@dataclass(frozen=True, slots=True)
class SufficiencyExample:
    """A claim with evidence that is labelled sufficient or insufficient."""

    claim: str  # the claim
    evidence: tuple[tuple[str, str], ...]  # pairs (title, sentence)
    sufficient: bool  # the label
    gold_documents: int  # number of the claim's gold documents, including a withheld one


def sufficiency_examples(
    corpus: Corpus, claims: Iterable[GoldClaim], *, sentences: int = 5, seed: int = 0
) -> Iterator[SufficiencyExample]:
    """Yield each claim with sufficient evidence, then with insufficient evidence.

    The examples of a claim depend on the claim and the seed, not on the other claims. Claims whose
    gold sentences the corpus lacks are left out.

    `sentences`: number of evidence sentences; larger only for claims with more gold sentences.
    """
    known = (claim for claim in claims if holds_gold(corpus, claim))
    while batch := list(islice(known, _BATCH_SIZE)):
        rankings = corpus.search([claim.claim for claim in batch], _CANDIDATES)
        for claim, ranking in zip(batch, rankings, strict=True):
            titles = [scored.title for scored in ranking if scored.title not in claim.all_titles]
            distractors = [
                (title, sentence)
                for title in titles[:_DISTRACTOR_DOCUMENTS]
                for sentence in corpus.document(title).sentences[:_DISTRACTOR_SENTENCES]
            ]
            rng = random.Random(f"{seed} {claim.claim}")
            yield from _complete_and_incomplete(corpus, claim, distractors, sentences, rng)


def _complete_and_incomplete(
    corpus: Corpus,
    claim: GoldClaim,
    distractors: list[tuple[str, str]],
    sentences: int,
    rng: random.Random,
) -> Iterator[SufficiencyExample]:
    gold = [(title, corpus.document(title).sentences[index]) for title, index in claim.sentences]
    withheld = rng.choice(claim.titles)
    rng.shuffle(distractors)
    for sufficient in (True, False):
        kept = gold if sufficient else [pair for pair in gold if pair[0] != withheld]
        evidence = kept + distractors[: max(sentences - len(kept), 0)]
        rng.shuffle(evidence)
        yield SufficiencyExample(claim.claim, tuple(evidence), sufficient, len(claim.titles))


def sentence_claims(
    examples: Iterable[SufficiencyExample], seed: int = 0
) -> Iterator[SufficiencyExample]:
    """Use evidence sentences as claims, with their own document and without it.

    Such claims need a single document. Without them, a judge that is fitted on claims of several
    documents would learn that evidence without links between documents is never sufficient. A
    sentence that is long or does not contain the title of its document is not used.
    """
    for example in examples:
        if not example.evidence:
            continue
        rng = random.Random(f"{seed} {example.claim} {example.sufficient}")
        title, sentence = rng.choice(example.evidence)
        if title not in sentence or len(sentence.split()) > _MAX_CLAIM_WORDS:
            continue
        distractors = [pair for pair in example.evidence if pair[0] != title]
        distractors = distractors[: rng.randint(0, _MAX_CLAIM_DISTRACTORS)]
        evidence = [(title, sentence), *distractors]
        rng.shuffle(evidence)
        yield SufficiencyExample(sentence, tuple(evidence), True, 1)
        if distractors:
            yield SufficiencyExample(sentence, tuple(distractors), False, 1)


def retrieved_examples(
    system: Admiral, claims: Sequence[GoldClaim], seed: int = 0
) -> Iterator[list[SufficiencyExample]]:
    """Run the hops of claims and yield, for each claim, examples of the evidence they select.

    Evidence is sufficient if it has a sentence of every gold document. For the first such hop of a
    claim, a second example withholds the sentences of one gold document, if any others are left.

    `system`: the system that searches; it must not stop early because of the judge that is to be
    fitted.
    """
    inputs = (Claim(claim.id, claim.claim) for claim in claims)
    for state, claim in zip(system.search_states(inputs), claims, strict=True):
        yield list(_examples_of_hops(state, claim, random.Random(f"{seed} {claim.claim}")))


def _examples_of_hops(
    state: SearchState, claim: GoldClaim, rng: random.Random
) -> Iterator[SufficiencyExample]:
    gold_sets = [frozenset(titles) for titles in claim.title_sets]

    def labelled(evidence: Sequence[tuple[str, str]]) -> SufficiencyExample:
        titles = {title for title, _ in evidence}
        sufficient = any(gold <= titles for gold in gold_sets)
        return SufficiencyExample(claim.claim, tuple(evidence), sufficient, len(claim.titles))

    has_withheld = False
    for hop in state.hops:
        evidence = [(sentence.title, sentence.text) for sentence in hop.evidence]
        if not evidence:
            continue
        example = labelled(evidence)
        yield example
        if example.sufficient and not has_withheld:
            withheld = rng.choice(claim.titles)
            incomplete = labelled([pair for pair in evidence if pair[0] != withheld])
            if incomplete.evidence and not incomplete.sufficient:
                has_withheld = True
                yield incomplete


@dataclass(frozen=True, slots=True)
class VerdictExample:
    """A claim with evidence and a label."""

    claim: str  # the claim
    evidence: tuple[tuple[str, str], ...]  # pairs (title, sentence)
    label: Label  # the label of the claim; ``NOT ENOUGH INFO`` if evidence was withheld


def gold_examples(
    corpus: Corpus, claims: Sequence[GoldClaim], seed: int
) -> Iterator[VerdictExample]:
    """Yield labelled claims with their gold evidence, then without the sentences of a document.

    Distractors are added as in `sufficiency_examples`. Claims without gold sentences in the corpus
    are left out.
    """
    labels = {claim.claim: claim.label for claim in claims}
    for example in sufficiency_examples(corpus, claims, seed=seed):
        label = labels[example.claim]
        if label is None or not example.evidence:
            continue
        if not example.sufficient:
            label = Label.NOT_ENOUGH_INFO
        yield VerdictExample(example.claim, example.evidence, label)
