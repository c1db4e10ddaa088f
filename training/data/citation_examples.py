"""Examples for the fit and the evaluation of the verification of citations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.citations.citation_records import CitedClaim
from admiral.citations.source_collections import cut_source, passage_texts
from admiral.citations.source_scorers import MixedFeatures
from admiral.citations.verifiers.coverage_verifier import CoverageVerifier, TermWeights
from admiral.citations.verifiers.verifier_protocol import CitationVerifier
from admiral.citations.wice_records import page_of
from admiral.errors import RecordError
from admiral.io.streams import json_objects
from admiral.library.source_records import Passage, Source

_REMEDY = "Give a file of WiCE's claims with marked tokens, unchanged"
_BATCH = 16


@dataclass(frozen=True, slots=True)
class TokenClaim:
    """A claim whose tokens are marked.

    Attributes
    ----------
    claim
        The tokens, joined by spaces.
    words
        Offsets of the tokens in `claim`.
    unsupported
        Whether the source does not support each token.
    source
        The cited page.
    """

    claim: str
    words: tuple[tuple[int, int], ...]
    unsupported: tuple[bool, ...]
    source: Source


def read_token_claims(path: Path) -> list[TokenClaim]:
    """Read claims of WiCE with marked tokens.

    Raises
    ------
    RecordError
        For a record that is not WiCE's, with file, line and field.
    AdmiralError
        If the file cannot be read.
    """
    claims = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        for field in ("claim_tokens", "non_supported_spans", "evidence"):
            if not isinstance(record.get(field), list):
                raise RecordError(where, field, "is not a list", _REMEDY)
        tokens, marks = record["claim_tokens"], record["non_supported_spans"]
        if len(tokens) != len(marks):
            problem = "is not as long as 'claim_tokens'"
            raise RecordError(where, "non_supported_spans", problem, _REMEDY)
        title, sentences, _ = page_of(record["evidence"])
        words, end = [], -1
        for token in tokens:
            words.append((end + 1, end + 1 + len(token)))
            end = words[-1][1]
        source = Source(f"wice:{path.stem}:{number}", title, "\n".join(sentences), language="en")
        claims.append(TokenClaim(" ".join(tokens), tuple(words), tuple(marks), source))
    return claims


def pool_stems(sources: Iterable[Source]) -> TermWeights:
    """Return the weights of stems over the 100-word passages of sources, each page once.

    Passages do not overlap and are read with the titles of their pages.
    """
    pages = {(source.title, source.text): source for source in sources}
    return TermWeights.of(
        text for source in pages.values() for text in passage_texts(cut_source(source, 100, 100))
    )


def extract_features(
    citations: Sequence[tuple[CitedClaim, Source]],
    verifiers: Mapping[str, CitationVerifier],
    stems: TermWeights,
) -> list[Mapping[str, float]]:
    """Return the features of `MixedFeatures` for each claim and source."""
    extractor = MixedFeatures(verifiers, stems)
    rows: list[Mapping[str, float]] = []
    for begin in range(0, len(citations), _BATCH):
        batch = citations[begin : begin + _BATCH]
        sources = [cut_source(source) for _, source in batch]
        rows += [each.values for each in extractor.extract([c for c, _ in batch], sources)]
    return rows


def best_passage(claim: str, passages: Sequence[Passage], stems: TermWeights) -> int:
    """Return the position of the passage that covers most of a claim."""
    (scores,) = CoverageVerifier(stems).score([CitedClaim("1", claim)], [passages])
    return scores.index(max(scores))
