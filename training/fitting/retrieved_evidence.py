"""Claims with the evidence that the system finds for them, and whether it suffices.

What BM25 fills gold sentences up with looks foreign beside them; what the hops choose looks right
even where a document is missing. A judge that decides when hops end must tell this, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from admiral import Admiral, Claim
from admiral.gold import GoldClaim
from admiral.retrieval.state import Progress
from training.fitting.sufficiency import LabelledEvidence


def retrieved_evidence(
    system: Admiral, claims: Sequence[GoldClaim], seed: int = 0
) -> Iterator[list[LabelledEvidence]]:
    """Answer claims and yield the evidence of each one's hops, as far as they chose any.

    It suffices if it has a sentence of every gold document. Where it does, the same comes once more
    without those of one gold document, from the first such hop of the claim whose rest lacks it.

    Parameters
    ----------
    system
        Answers the claims; it should not stop where the judge that is to be fitted does.
    claims
        Claims with gold documents.
    seed
        Says which document is withheld.
    """
    asked = (Claim(claim.id, claim.claim) for claim in claims)
    for found, claim in zip(system.explore(asked), claims, strict=True):
        yield list(_labelled(found, claim, random.Random(f"{seed} {claim.claim}")))


def _labelled(found: Progress, claim: GoldClaim, rng: random.Random) -> Iterator[LabelledEvidence]:
    sets = [frozenset(titles) for titles in claim.title_sets]

    def labelled(texts: Sequence[tuple[str, str]]) -> LabelledEvidence:
        titles = {title for title, _ in texts}
        complete = any(one <= titles for one in sets)
        return LabelledEvidence(claim.claim, tuple(texts), complete, len(claim.titles))

    withheld = False
    for hop in found.hops:
        texts = [(one.title, one.text) for one in hop.evidence]
        if not texts:
            continue
        one = labelled(texts)
        yield one
        if one.sufficient and not withheld:
            lost = rng.choice(claim.titles)
            rest = labelled([pair for pair in texts if pair[0] != lost])
            if rest.evidence and not rest.sufficient:
                withheld = True
                yield rest
