"""Claims with evidence and the verdict that it should lead to, to fit probabilities of verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import RecordError
from admiral.evaluation.predictions import REMEDY, parse_result, read_results
from admiral.gold import GoldClaim
from admiral.gold.gold_claims import Label
from training.data.evidence_corpora import Corpus
from training.fitting.sufficiency_examples import sufficiency_examples


@dataclass(frozen=True, slots=True)
class VerdictExample:
    """A claim with evidence and a label.

    Attributes
    ----------
    claim
        The claim.
    evidence
        Pairs (title, sentence).
    label
        The label of the claim; ``NOT ENOUGH INFO`` if evidence was withheld.
    source
        Where the evidence comes from, for tables of results.
    """

    claim: str
    evidence: tuple[tuple[str, str], ...]
    label: Label
    source: str


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
        yield VerdictExample(example.claim, example.evidence, label, "gold evidence")


def retrieved_examples_of_results(
    path: Path, claims: Mapping[str, GoldClaim]
) -> Iterator[VerdictExample]:
    """Yield labelled claims with the evidence that `admiral retrieve` selected.

    The label is that of the claim, however complete the evidence is: it is what evaluation compares
    verdicts with.

    Parameters
    ----------
    path
        A file of results.
    claims
        The claims by id. Results of others are left out.

    Raises
    ------
    RecordError
        For an invalid record.
    AdmiralError
        If the file cannot be read, is empty or is a TREC run.
    """
    for where, record in read_results(path):
        gold = claims.get(parse_result(record, where).id)
        evidence = tuple((s["title"], s.get("text")) for s in record["evidence"])
        if not all(isinstance(text, str) for _, text in evidence):
            raise RecordError(where, "evidence", "has a sentence without text", REMEDY)
        if gold is not None and gold.label is not None and evidence:
            yield VerdictExample(gold.claim, evidence, gold.label, path.name)
