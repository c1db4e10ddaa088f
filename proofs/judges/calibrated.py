"""A judge whose proof steps are scored by weighed evidence for and against their being covered.

Each step gets a score by a small network (`proofs.judges.network`) that reads the step's own
features (`proofs.judges.support`) and those of the claim with its evidence
(`proofs.judges.claim_features`). If any score exceeds a threshold, the highest step is independent
of the evidence, together with those above the threshold that words leave uncovered. The evidence
suffices where there is none: the proof is the decision, not a comment on it. A claim that one
document covers nearly word for word, or denies, needs no score. Weights are fitted on claims whose
evidence is known to suffice or not, the highest step standing for the claim (`training.judges`);
what they are can be read in `proofs/data/calibrated.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from proofs.drafting.drafts import RELATED_SIMILARITY, Draft, finish, unobjected
from proofs.judges.basic import Evidence, nothing_to_go_on
from proofs.judges.claim_features import CLAIM_FEATURES
from proofs.judges.judgement import Judgement
from proofs.judges.network import Unit, read_units, score_of
from proofs.judges.support import STEP_FEATURES, Support, SupportFinder
from proofs.judges.weight_files import number, read_weights
from proofs.lexicons.lexicon import SpanLexicon, is_bare_negation
from proofs.lexicons.wordnet import default_lexicon
from proofs.logic.operators import REFUTING_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof
from proofs.logic.words import located

# The least similarity of a step that is covered nearly word for word.
_VERBATIM = 0.9
#: What a step's score is made of.
FEATURES = (*CLAIM_FEATURES, *STEP_FEATURES)
WEIGHTS = Path(__file__).parents[1] / "data" / "calibrated.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """What scores the steps, and from which score on a step is independent.

    Attributes
    ----------
    units
        The parts of a step's score, with a weight for each of `FEATURES`.
    threshold
        Evidence with a step of a higher score does not suffice.
    """

    units: tuple[Unit, ...]
    threshold: float

    @classmethod
    def read(cls, path: Path) -> Weights:
        """Read weights.

        Raises
        ------
        ValueError
            Naming the file and the field that is missing, unknown or no number.
        """
        found = read_weights(path, ("units", "threshold"))
        units = read_units(path, found["units"], FEATURES)
        return cls(units, number(path, "threshold", found["threshold"]))

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def scores(self, support: Support) -> list[float]:
        """Return the score of each step; higher ones are less covered."""
        claim = dict(zip(CLAIM_FEATURES, support.claim, strict=True))
        return [
            score_of(self.units, claim | dict(zip(STEP_FEATURES, row, strict=True)))
            for row in support.steps
        ]


class CalibratedJudge:
    """Judges by a lexical proof whose steps are independent if their score says so.

    Parameters
    ----------
    weights
        Fitted weights; those of `WEIGHTS` where not given.
    lexicon
        What is known about words; the built-in lexicon where not given.
    max_steps
        Most steps of a proof.
    """

    def __init__(
        self,
        weights: Weights | None = None,
        lexicon: SpanLexicon | None = None,
        *,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self._weights = weights or _fitted()
        self._lexicon = lexicon or default_lexicon()
        self._finder = SupportFinder(self._lexicon, max_steps=max_steps)

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return each claim's scored proof and what follows from it."""
        return [self._one(c, texts) for c, texts in zip(claims, evidence, strict=True)]

    def _one(self, claim: str, evidence: Evidence) -> Judgement:
        if not claim.split() or not evidence:
            return nothing_to_go_on(claim)
        support = self._finder.find(claim, evidence)
        said = said_by_one(support)
        proof = finish(support.drafts) if said else self._proof(claim, support)
        return Judgement(proof.sufficient, proof)

    def _proof(self, claim: str, support: Support) -> Proof:
        scores = self._weights.scores(support)
        highest = max(scores)
        steps = []
        for one, score in zip(support.drafts, scores, strict=True):
            independent = one.operator is NatOp.INDEPENDENCE
            # Of the steps above the threshold those decide that the words leave uncovered, too,
            # and the highest in any case: what the claim as a whole lacks raises all of them.
            decides = score > self._weights.threshold and (independent or score == highest)
            # "Is not" alone would turn the step that it joined; what it denies stands elsewhere.
            bare = one.similarity < RELATED_SIMILARITY and is_bare_negation(one.claim)
            if one.aligned is None or decides or bare:
                one = replace(one, operator=NatOp.INDEPENDENCE, bare=not independent)
            elif independent:
                relation = self._lexicon.relation(one.claim, one.aligned.span)
                unknown = unobjected(one.claim, one.aligned, self._lexicon)
                one = replace(one, operator=relation or unknown)
            steps.append(one)
        return finish(_joined(claim, steps))


def said_by_one(support: Support) -> bool:
    """Return whether one document covers every step nearly word for word.

    Then nothing has to be concluded from several documents, and what links them says nothing. A
    document that the claim names may also turn steps round: of another one it would not be known
    that it is about the same thing.
    """
    sources = {one.aligned.source for one in support.drafts if one.aligned}
    named = sources <= support.named
    return len(sources) == 1 and all(
        one.operator is not NatOp.INDEPENDENCE
        and (one.similarity >= _VERBATIM or (named and one.operator in REFUTING_OPERATORS))
        for one in support.drafts
    )


def _joined(claim: str, steps: Sequence[Draft]) -> list[Draft]:
    """Join steps that are covered, but by nothing that can be shown, to one that has a quotation.

    They join the step before them, else the one behind; where both are independent, so are they.
    """
    found: list[Draft] = []
    waiting = ""
    for step, text in zip(steps, _texts(claim, steps), strict=True):
        covered = step.operator is not NatOp.INDEPENDENCE
        if covered and step.similarity < RELATED_SIMILARITY:
            if not waiting and found and found[-1].operator is not NatOp.INDEPENDENCE:
                found[-1] = replace(found[-1], claim=found[-1].claim + text)
            else:
                waiting += text
            continue
        if waiting and covered:
            step = replace(step, claim=waiting + text)
        elif waiting:
            found += [Draft(waiting, None, NatOp.INDEPENDENCE), replace(step, claim=text)]
            waiting = ""
            continue
        else:
            step = replace(step, claim=text)
        found.append(step)
        waiting = ""
    if waiting:
        found.append(Draft(waiting, None, NatOp.INDEPENDENCE))
    return [replace(step, claim=step.claim.strip()) for step in found]


def _texts(claim: str, steps: Sequence[Draft]) -> list[str]:
    """Return the claim's text up to the end of each step from the end of the one before."""
    ends = [0, *(end for _, end in located(claim, (step.claim for step in steps)))]
    return [claim[begin:end] for begin, end in pairwise(ends)]


@cache
def _fitted() -> Weights:
    return Weights.read(WEIGHTS)
