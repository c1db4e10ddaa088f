"""Training samples for the three tasks, their valid targets, and their JSON Lines form.

A hop is correct if it extends gold documents by another gold document, no matter which. So an
input has a set of targets, and the loss is the negative log of their summed probability.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from admiral.retrieval.first_stage import base_title
from proofs import Proof
from training.data.records import read_records

MAX_TARGETS = 8  # of one input; a sample is drawn from more


@dataclass(frozen=True, slots=True)
class Target:
    """Identifiers of evidence sentences, ascending, and the title that follows them."""

    identifiers: tuple[int, ...]
    title: str


def gold_continuations(
    evidence: Sequence[str],
    gold: Collection[str],
    hop: int,
    rng: random.Random,
    limit: int | None = MAX_TARGETS,
) -> tuple[Target, ...]:
    """Return the valid targets of a hop.

    A target names sentences of ``min(hop, number of documents)`` different documents, as the hop
    grammar requires, and a title. It is valid if the title is gold and not among these documents,
    and if no other choice of sentences covers more gold documents.

    - `evidence`: the title of each evidence sentence, in the order of the input.
    - `gold`: the titles of the gold documents.
    - `hop`: number of the hop; hop 0 generates a title from the claim alone.
    - `rng`: draws `limit` targets if there are more.
    - `limit`: maximum number of targets; None for all.

    There is none if the best choices of sentences name every gold document already.
    """
    count = min(hop, len(set(evidence)))
    targets: list[Target] = []
    best = 0
    for chosen in combinations(range(len(evidence)), count):
        documents = {evidence[i] for i in chosen}
        if len(documents) < count:
            continue
        covered = sum(title in documents for title in gold)
        if covered < best:
            continue
        titles = [title for title in gold if title not in documents]
        if covered > best:
            best, targets = covered, []
        targets += [Target(chosen, title) for title in titles]
    if limit is not None and len(targets) > limit:
        targets = rng.sample(targets, limit)
    return tuple(sorted(targets, key=lambda target: (target.identifiers, target.title)))


Claim = Annotated[str, Field(pattern=r"\S")]
Title = Annotated[str, Field(min_length=1)]
Evidence = tuple[tuple[str, str], ...]  # titles with sentences


@dataclass(frozen=True, slots=True)
class RetrieveSample:
    """A sample of hop retrieval: claim and evidence in, sentence identifiers and a title out."""

    claim: Claim
    evidence: Evidence
    hop: Annotated[int, Field(ge=0)]  # from 0: how many documents the identifiers name
    # titles of the gold documents. The valid targets follow from them and the evidence.
    gold: Annotated[tuple[Title, ...], Field(min_length=1)]
    task: Literal["retrieve"] = "retrieve"

    def targets(self, limit: int | None = MAX_TARGETS) -> tuple[Target, ...]:
        """Return at most `limit` valid targets (see `gold_continuations`)."""
        titles = [title for title, _ in self.evidence]
        return gold_continuations(titles, self.gold, self.hop, random.Random(self.claim), limit)


def _are_positions(numbers: tuple[int, ...], others: ValidationInfo) -> tuple[int, ...]:
    count = len(others.data.get("sentences", ()))
    if any(not 0 <= number < count for number in numbers):
        raise ValueError(f"holds a number that is not a position among {count}")
    return numbers


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """A candidate document with the positions of its gold sentences."""

    title: Claim
    sentences: tuple[str, ...]
    relevant: Annotated[tuple[int, ...], AfterValidator(_are_positions)]


@dataclass(frozen=True, slots=True)
class RerankSample:
    """A sample of reranking: candidate documents of one claim, scored against each other."""

    claim: Claim
    evidence: Evidence
    documents: tuple[RerankDocument, ...]
    task: Literal["rerank"] = "rerank"


@dataclass(frozen=True, slots=True)
class ProveSample:
    """A sample of proof generation: claim and evidence in, a natural-logic proof out."""

    claim: Claim
    evidence: Evidence
    proof: Proof
    task: Literal["prove"] = "prove"


Sample = RetrieveSample | RerankSample | ProveSample
_ANY_SAMPLE: Any = Annotated[Sample, Field(discriminator="task")]


def read_samples(path: Path) -> Iterator[Sample]:
    """Read the samples of a file, which `write_records` has written."""
    samples: Iterator[Sample] = read_records(path, _ANY_SAMPLE, "Build it again")
    return samples


def catalogue_heading(title: str) -> str:
    """Return the catalogue heading of a title: ``Seth Meyers`` -> ``Meyers, Seth``.

    The qualifier stays last: ``The Tonight Show (1954)`` -> ``Show, The Tonight (1954)``. A title
    whose base is one word stays as it is: ``Alien (film)``. Different titles have different
    headings if their words are separated by single spaces and only qualifiers have parentheses.
    """
    base = base_title(title)
    words = base.split()
    if len(words) < 2:
        return title
    qualifier = title[len(base) :]
    return f"{words[-1]}, {' '.join(words[:-1])}{qualifier}"


def with_headings(samples: Iterable[Sample], share: float, seed: int) -> Iterator[Sample]:
    """Yield samples, a random share of those of retrieval with headings as titles.

    A model that is trained on them learns to write titles in the form that the evidence shows. The
    titles of the evidence and of the gold documents are replaced; the texts are unchanged.

    `samples`: samples of any task; those of other tasks than retrieval are yielded unchanged.
    `share`: probability that a sample is changed, from 0 to 1. `seed`: the same seed chooses the
    same samples.
    """
    rng = random.Random(seed)
    for sample in samples:
        if isinstance(sample, RetrieveSample) and rng.random() < share:
            yield replace(
                sample,
                evidence=tuple((catalogue_heading(title), text) for title, text in sample.evidence),
                gold=tuple(map(catalogue_heading, sample.gold)),
            )
        else:
            yield sample
