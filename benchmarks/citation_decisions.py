"""Whether an audit says the right thing of citations in paraphrase, in our own sentences.

Run as ``python -m benchmarks.citation_decisions [--verifier NAME]``. Each source of
``own_citations.jsonl`` has claims that it supports, in other words than its own, each with a twin
that it contradicts; parts that it supports, in a sentence whose other half it does not have; and
claims that it supports but for one part. It prints

- the area of supported over contradicted claims, and the share of twins in the right order;
- the findings on both, and how many contradicted claims are kept with a support of half or more;
- the share of a part's support that is left when it stands in its sentence, with the span of its
  mark, and without;
- how often something is said to be missing from supported and from partly supported claims, and
  how often that overlaps with the part that is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from admiral.citations.citation_records import Citation, CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer
from admiral.citations.source_search import LoadedSources
from admiral.citations.term_weights import TermWeights
from admiral.evaluation.citation_evaluation import auroc_interval
from admiral.sources import Source

FILE = Path(__file__).with_name("own_citations.jsonl")


def read_own(path: Path = FILE) -> list[dict[str, Any]]:
    """Return the sources with their claims."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def part_span(joined: Mapping[str, str]) -> tuple[int, int]:
    """Return the offsets of a part in its sentence."""
    part = joined["part"]
    start = joined["sentence"].index(part)
    return start, start + len(part)


class Auditor:
    """Judges claims of the sources, each of which cites the source that it belongs to."""

    def __init__(self, records: Sequence[Mapping[str, Any]], settings: Sequence[str]) -> None:
        self._urls = [f"https://example.org/{number}" for number in range(len(records))]
        sources = [
            Source(url, record["title"], record["text"])
            for url, record in zip(self._urls, records, strict=True)
        ]
        config = CitationConfig.read(None, [*settings, "suggest=false"])
        self._citer = Citer(LoadedSources(sources), TermWeights.background(), config)

    def verdict(
        self, number: int, claim: str, span: tuple[int, int] | None = None
    ) -> CitationVerdict:
        """Return the verdict on a claim that cites a source by number."""
        citations = (Citation(self._urls[number]),)
        return self._citer.verify(CitedClaim("1", claim, span=span, citations=citations))


def support(verdict: CitationVerdict) -> float:
    """Return the probability of support."""
    best: ScoredSource | None = verdict.best
    assert best is not None
    assert best.probability is not None
    return best.probability


def pair_lines(auditor: Auditor, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines about supported claims and their contradicted twins."""
    pairs = [
        (auditor.verdict(number, pair["supported"]), auditor.verdict(number, pair["contradicted"]))
        for number, record in enumerate(records)
        for pair in record["pairs"]
    ]
    good, bad = zip(*pairs, strict=True)
    value, low, high = auroc_interval([*map(support, good)], [*map(support, bad)])
    ordered = sum(support(a) > support(b) for a, b in pairs) / len(pairs)
    high = sum(each.decision == "keep" and support(each) >= 0.5 for each in bad)
    return [
        f"{len(pairs)} pairs: area {value:.3f} [{low:.3f}, {high:.3f}], in order {ordered:.2f}",
        f"findings: supported {_counts(good)}; contradicted {_counts(bad)}",
        f"contradicted claims kept with a support of half or more: {high}",
        f"something missing from supported claims: {_said(good)}",
    ]


def _counts(verdicts: Sequence[CitationVerdict]) -> str:
    counts = Counter(str(each.finding) for each in verdicts)
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _said(verdicts: Sequence[CitationVerdict]) -> str:
    said = sum(bool(each.missing) for each in verdicts)
    return f"{said} of {len(verdicts)} ({said / len(verdicts):.0%})"


def joined_line(auditor: Auditor, records: Sequence[Mapping[str, Any]]) -> str:
    """Return the line about parts of sentences."""
    alone = marked = whole = 0.0
    count = 0
    for number, record in enumerate(records):
        for joined in record["joined"]:
            alone += support(auditor.verdict(number, joined["alone"]))
            marked += support(auditor.verdict(number, joined["sentence"], part_span(joined)))
            whole += support(auditor.verdict(number, joined["sentence"]))
            count += 1
    return (
        f"{count} parts of sentences: mean support alone {alone / count:.2f}, in the sentence "
        f"{marked / count:.2f} (share {marked / alone:.2f}), of the whole sentence "
        f"{whole / count:.2f} ({whole / alone:.2f})"
    )


def partly_line(auditor: Auditor, records: Sequence[Mapping[str, Any]]) -> str:
    """Return the line about claims of which one part is not in the source."""
    verdicts, right = [], 0
    for number, record in enumerate(records):
        for partly in record["partly"]:
            verdict = auditor.verdict(number, partly["claim"])
            verdicts.append(verdict)
            words = set(partly["missing"].split())
            right += any(words & set(part.split()) for part in verdict.missing)
    return f"something missing from partly supported claims: {_said(verdicts)}, {right} right"


@click.command()
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting.")
def main(settings: tuple[str, ...]) -> None:
    """Print how an audit judges citations in paraphrase."""
    records = read_own()
    auditor = Auditor(records, settings)
    for line in pair_lines(auditor, records):
        click.echo(line)
    click.echo(joined_line(auditor, records))
    click.echo(partly_line(auditor, records))


if __name__ == "__main__":
    main()
