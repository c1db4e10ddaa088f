"""Features of a claim and its evidence as a whole, for judges that weigh them.

All are counts and shares that a reader can check by hand. They tell how many documents the claim
asks for, and how the documents that are there hang together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proofs.drafting.drafts import Draft
from proofs.judges.claim_wording import Wording
from proofs.judges.coverage import Coverage
from proofs.judges.document_links import Links

#: The claim's length in tens of words, its steps; words such as "both", "another" and "whose",
#: "the" before a description, sentences; its names, and those in no title of the evidence.
_CLAIM = (
    "words",
    "steps",
    "sharing",
    "setting_apart",
    "relative",
    "definite",
    "stops",
    "proper_names",
    "untitled",
)
#: The documents of the evidence; those that the claim names, of these those that it tells another
#: one by, as in "the director of Chinatown", and among the latter those without a link and those
#: without one to a document that the claim does not name.
_DOCUMENTS = ("documents", "named", "described", "described_alone", "described_open")
#: Pairs of documents of which one names the other, those in which both do, those of two that the
#: claim names, and of two that it does not; documents with any link, those that links lead to from
#: the named ones, the largest group that hangs together, the named ones that stand alone; not
#: named, but linked: with any document, with a named one, and those that name one; named ones that
#: name a document that is not; the sentences of reached documents.
_LINKS = (
    "links",
    "mutual",
    "between_named",
    "between_unnamed",
    "linked",
    "reached",
    "largest",
    "alone",
    "linked_unnamed",
    "bridges",
    "led",
    "leading",
    "sentences",
)
#: The least and the second least similarity of a step; the claim's content words that no document
#: has, and that no named or linked one has; the share of the document that has most of them; the
#: documents that have words of their own, and such words of documents neither named nor linked.
_COVERAGE = (
    "weakest",
    "second",
    "uncovered",
    "uncovered_by_linked",
    "largest_share",
    "contributing",
    "stray",
)
CLAIM_FEATURES = (*_CLAIM, *_DOCUMENTS, *_LINKS, *_COVERAGE)


def claim_features(
    claim: str, evidence: Sequence[tuple[str, str]], links: Links, drafts: Sequence[Draft]
) -> tuple[float, ...]:
    """Return the values of `CLAIM_FEATURES`.

    Parameters
    ----------
    claim, evidence
        The claim, and pairs of title and sentence.
    links
        What links them.
    drafts
        The steps of the claim's proof, one at least.
    """
    values = (
        *_of_claim(claim, links, drafts),
        *_of_documents(links),
        *_of_links(evidence, links),
        *_of_coverage(claim, links, drafts),
    )
    return tuple(map(float, values))


def _of_claim(claim: str, links: Links, drafts: Sequence[Draft]) -> Iterator[float]:
    wording = Wording.of(claim)
    yield len(claim.split()) / 10
    yield len(drafts)
    yield wording.sharing
    yield wording.setting_apart
    yield wording.relative
    yield wording.definite
    yield wording.sentences
    yield len(wording.names)
    yield sum(not links.titled(name) for name in wording.names)


def _of_documents(links: Links) -> Iterator[float]:
    described = [at for at, is_described in enumerate(links.described) if is_described]
    yield len(links.titles)
    yield sum(links.named)
    yield len(described)
    yield sum(not links.neighbours[at] for at in described)
    yield sum(all(links.named[other] for other in links.neighbours[at]) for at in described)


def _of_links(evidence: Sequence[tuple[str, str]], links: Links) -> Iterator[float]:
    named, naming, neighbours = links.named, links.naming, links.neighbours
    pairs = [(a, b) for a, near in enumerate(neighbours) for b in near if a < b]
    reached = {links.titles[at] for at in links.reached}
    unnamed = [at for at, is_named in enumerate(named) if not is_named]
    yield len(pairs)
    yield sum(a in naming[b] and b in naming[a] for a, b in pairs)
    yield sum(named[a] and named[b] for a, b in pairs)
    yield sum(not named[a] and not named[b] for a, b in pairs)
    yield sum(map(bool, neighbours))
    yield len(reached)
    yield links.largest
    yield sum(is_named and not neighbours[at] for at, is_named in enumerate(named))
    yield sum(bool(neighbours[at]) for at in unnamed)
    yield sum(any(named[other] for other in neighbours[at]) for at in unnamed)
    yield sum(any(named[other] for other in naming[at]) for at in unnamed)
    yield sum(
        is_named and any(not named[other] for other in naming[at])
        for at, is_named in enumerate(named)
    )
    yield sum(title in reached for title, _ in evidence)


def _of_coverage(claim: str, links: Links, drafts: Sequence[Draft]) -> Iterator[float]:
    weakest, second, *_ = [*sorted(one.similarity for one in drafts), 1.0]
    coverage = Coverage.of(claim, links.words)
    alone, useful = coverage.alone(), links.useful
    yield weakest
    yield second
    yield coverage.missing(range(len(links.titles)))
    yield coverage.missing(useful)
    yield coverage.largest_share
    yield len(alone)
    yield sum(count for at, count in alone.items() if at not in useful)
