"""Features of a claim and its evidence as a whole, for judges that weight them.

All are counts and shares that a reader can check by hand. They describe how many documents the
claim needs, how the documents of the evidence are linked, and which words of the claim they cover.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proofs.drafting.drafts import DraftStep
from proofs.judges.claim_wording import ClaimWording
from proofs.judges.document_links import DocumentLinks
from proofs.logic.words import split_words

#: The features in the order of the fitted weights. Each is explained where it is computed.
CLAIM_FEATURES = (
    "words",
    "steps",
    "sharing",
    "setting_apart",
    "relative",
    "definite",
    "stops",
    "proper_names",
    "untitled",
    "documents",
    "named",
    "described",
    "described_alone",
    "described_open",
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
    "weakest",
    "second",
    "uncovered",
    "uncovered_by_linked",
    "largest_share",
    "contributing",
    "stray",
)


def claim_features(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    links: DocumentLinks,
    steps: Sequence[DraftStep],
) -> tuple[float, ...]:
    """Return the values of `CLAIM_FEATURES`.

    Parameters
    ----------
    claim
        The claim.
    evidence
        Pairs of title and sentence.
    links
        The links of the claim and its evidence.
    steps
        The drafted steps of the claim's proof; at least one.
    """
    values = {
        **_wording_features(claim, links, steps),
        **_mention_features(links),
        **_link_features(evidence, links),
        **_coverage_features(claim, links, steps),
    }
    return tuple(float(values[name]) for name in CLAIM_FEATURES)


def _wording_features(
    claim: str, links: DocumentLinks, steps: Sequence[DraftStep]
) -> dict[str, float]:
    """Return the features of the claim's wording; see `ClaimWording`."""
    wording = ClaimWording.count(claim)
    return {
        "words": len(claim.split()) / 10,
        "steps": len(steps),
        "sharing": wording.sharing,
        "setting_apart": wording.contrast,
        "relative": wording.relative,
        "definite": wording.definite,
        "stops": wording.sentences,
        "proper_names": len(wording.names),
        # Names that are part of no title of the evidence.
        "untitled": sum(not links.has_title_like(name) for name in wording.names),
    }


def _mention_features(links: DocumentLinks) -> dict[str, float]:
    """Return the features of the documents' titles in the claim."""
    describing = [at for at, describes in enumerate(links.describing) if describes]
    return {
        "documents": len(links.titles),
        "named": sum(links.named),
        # Titles that describe another document, as in "the director of Chinatown" ...
        "described": len(describing),
        # ... without any link,
        "described_alone": sum(not links.neighbours[at] for at in describing),
        # ... and without a link to a document that the claim does not name.
        "described_open": sum(
            all(links.named[other] for other in links.neighbours[at]) for at in describing
        ),
    }


def _link_features(evidence: Sequence[tuple[str, str]], links: DocumentLinks) -> dict[str, float]:
    """Return the features of the graph of documents."""
    named, naming, neighbours = links.named, links.naming, links.neighbours
    pairs = [(a, b) for a, near in enumerate(neighbours) for b in near if a < b]
    reached = {links.titles[at] for at in links.reached}
    unnamed = [at for at, is_named in enumerate(named) if not is_named]
    return {
        # Pairs of documents: linked, linked both ways, both named by the claim, neither named.
        "links": len(pairs),
        "mutual": sum(a in naming[b] and b in naming[a] for a, b in pairs),
        "between_named": sum(named[a] and named[b] for a, b in pairs),
        "between_unnamed": sum(not named[a] and not named[b] for a, b in pairs),
        # Documents with a link, documents reached from the named ones, largest component.
        "linked": sum(map(bool, neighbours)),
        "reached": len(reached),
        "largest": links.largest,
        # Named documents without a link.
        "alone": sum(is_named and not neighbours[at] for at, is_named in enumerate(named)),
        # Documents that the claim does not name: with a link, with a link to a named document, and
        # whose sentences name a named document.
        "linked_unnamed": sum(bool(neighbours[at]) for at in unnamed),
        "bridges": sum(any(named[other] for other in neighbours[at]) for at in unnamed),
        "led": sum(any(named[other] for other in naming[at]) for at in unnamed),
        # Named documents whose sentences name one that the claim does not name.
        "leading": sum(
            is_named and any(not named[other] for other in naming[at])
            for at, is_named in enumerate(named)
        ),
        # Sentences of reached documents.
        "sentences": sum(title in reached for title, _ in evidence),
    }


def _coverage_features(
    claim: str, links: DocumentLinks, steps: Sequence[DraftStep]
) -> dict[str, float]:
    """Return the features of the claim's words in the documents."""
    weakest, second, *_ = [*sorted(step.similarity for step in steps), 1.0]
    coverage = WordCoverage.find(claim, links.words)
    exclusive, relevant = coverage.exclusive(), links.relevant
    return {
        # The lowest and the second lowest similarity of a step.
        "weakest": weakest,
        "second": second,
        # Content words of the claim in no document, and in no named or linked document.
        "uncovered": coverage.missing(range(len(links.titles))),
        "uncovered_by_linked": coverage.missing(relevant),
        "largest_share": coverage.largest_share,
        # Documents with words that no other has, and such words of irrelevant documents.
        "contributing": len(exclusive),
        "stray": sum(count for at, count in exclusive.items() if at not in relevant),
    }


@dataclass(frozen=True, slots=True)
class WordCoverage:
    """The documents in which each content word of a claim occurs, compared by spelling.

    Attributes
    ----------
    documents
        For each content word of the claim, the documents that contain it.
    """

    documents: tuple[frozenset[int], ...]

    @classmethod
    def find(cls, claim: str, texts: Sequence[Sequence[str]]) -> WordCoverage:
        """Find the claim's words in documents, each given by its normalised words."""
        vocabularies = [frozenset(words) for words in texts]
        return cls(
            tuple(
                frozenset(at for at, words in enumerate(vocabularies) if word.norm in words)
                for word in split_words(claim)
                if word.is_content
            )
        )

    def missing(self, documents: Collection[int]) -> int:
        """Return the number of words that none of the given documents contains."""
        return sum(not any(at in documents for at in holders) for holders in self.documents)

    @property
    def largest_share(self) -> float:
        """The largest share of the words that any one document contains."""
        every = frozenset[int]().union(*self.documents)
        counts = [sum(at in holders for holders in self.documents) for at in every]
        return max(counts, default=0) / max(len(self.documents), 1)

    def exclusive(self) -> dict[int, int]:
        """Return the number of words that only this document contains, if any, by document."""
        counts: dict[int, int] = {}
        for holders in self.documents:
            if len(holders) == 1:
                (at,) = holders
                counts[at] = counts.get(at, 0) + 1
        return counts
