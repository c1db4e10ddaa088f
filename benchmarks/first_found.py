"""Which stage finds the gold documents first: BM25, mentions, the graph or the generator.

    python -m benchmarks.first_found CLAIMS.jsonl --kb KB --limit 216

The claims come with gold evidence in a format of `admiral.gold`. A gold document is found by the
first hop that reads it. Every source that proposed it to this hop is named, so a line with one
source counts the documents that no other source proposed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from admiral import Admiral, Claim, RetrievalConfig
from admiral.config import load_config
from admiral.evaluation.predictions import normalise_title
from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.records import Sentence
from admiral.retrieval.state import SearchState

Sources = Mapping[str, Sequence[str]]
# The hop that found a document, 0 if none did, and the sources that proposed it to this hop.
Found = tuple[int, tuple[str, ...]]


def first_hop_sources(system: Admiral, state: SearchState) -> Sources:
    """Return the titles that each source proposed to the first hop.

    A source counts if the hop would have read the document without the others: BM25 and the graph
    only with the documents for which a hop has room.
    """
    config, claim = system.config, state.claim.text
    (ranking,) = system.kb.search([claim], config.first_stage_documents)
    sources = {
        "BM25": [hit.title for hit in ranking[: config.rerank_documents]],
        "named by the claim": state.claim_mentions,
    }
    if system.stages.graph is not None:
        (near,) = system.stages.graph.rank([claim], [()], config.rerank_documents)
        sources["close in the graph"] = near
    if config.generator and config.title_beams:
        (generated,) = system.stages.hop_retriever.expand([claim], [()], [0])
        sources["generated from the claim"] = [s.titles[-1] for s in generated]
    return sources


def later_hop_sources(state: SearchState, hop: int, near: Sequence[str] = ()) -> Sources:
    """Return the titles that each source proposed to a hop from the second one on.

    A hop reads from its sources in turn until it has no room left. The lists end there: what
    comes later in a list would not have been read because of it.

    Parameters
    ----------
    state
        The search state of a claim after its last hop.
    hop
        The number of the hop.
    near
        The titles that are close in the graph to the evidence of the hop before.
    """
    sources = {
        "generated": [t for s in state.document_sets[hop - 1] for t in s.titles],
        "mentioned by the evidence": state.mentioned[hop - 2],
        "first stage": [candidate.title for candidate in state.candidates or ()],
        **({"close in the graph": near} if near else {}),
    }
    sources = {name: list(dict.fromkeys(titles)) for name, titles in sources.items()}
    read_again = {sentence.title for sentence in state.hops[hop - 2].evidence}
    position: dict[str, int] = {}
    for titles in sources.values():
        for at, title in enumerate(titles):
            position[title] = min(at, position.get(title, at))
    new = [title for title in state.read[hop - 1] if title not in read_again]
    end = max((position[title] + 1 for title in new), default=0)
    return {name: titles[:end] for name, titles in sources.items()}


def first_found(
    gold: Sequence[str],
    state: SearchState,
    first_sources: Sources,
    near: Callable[[Sequence[Sentence]], Sequence[str]] = lambda evidence: (),
) -> Iterator[Found]:
    """Yield, for each gold document, the hop that read it first and the sources that proposed it.

    Parameters
    ----------
    gold
        The titles of the gold documents.
    state
        The search state of a claim after its last hop.
    first_sources
        The titles that each source proposed to the first hop.
    near
        Returns the titles that are close in the graph to evidence.
    """
    for title in map(normalise_title, gold):
        hop = next((n for n, read in enumerate(state.read, 1) if title in _normalised(read)), 0)
        sources: Sources = {}
        if hop:
            sources = first_sources
            if hop > 1:
                sources = later_hop_sources(state, hop, near(state.hops[hop - 2].evidence))
        yield hop, tuple(name for name, titles in sources.items() if title in _normalised(titles))


def _near(system: Admiral, claim: str, evidence: Sequence[Sentence]) -> Sequence[str]:
    """Return the titles that the graph proposes to the hop after some evidence."""
    if system.stages.graph is None:
        return ()
    return system.stages.graph.rank([claim], [evidence], system.config.rerank_documents)[0]


def _normalised(titles: Sequence[str]) -> set[str]:
    return set(map(normalise_title, titles))


def table(found: Counter[Found]) -> Iterator[str]:
    """Yield the lines of a table: the documents by hop and by the sources that proposed them."""
    total = found.total()
    yield "| hop | found by | gold documents | share |"
    yield "|---|---|---|---|"
    for (hop, sources), count in sorted(found.items(), key=_order):
        label = " + ".join(sources) if hop else "never read"
        yield f"| {hop or ''} | {label} | {count} | {count / total:.3f} |"


def _order(item: tuple[Found, int]) -> tuple[float, int, int]:
    (hop, sources), count = item
    return hop or float("inf"), len(sources), -count


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--config", "path", type=click.Path(path_type=Path), help="YAML file of settings.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(claims: Path, kb: str, limit: int, path: Path | None, settings: tuple[str, ...]) -> None:
    """Print a table of the stages that find the gold documents of CLAIMS first."""
    gold = list(evenly_spaced([claim for claim in read_gold(claims) if claim.evidence], limit))
    config: RetrievalConfig = load_config(path, [f"kb={kb}", *settings])
    found: Counter[Found] = Counter()
    with Admiral.from_pretrained(config=config) as system:
        states = system.search_states(Claim(claim.id, claim.claim) for claim in gold)
        for claim, state in zip(gold, states, strict=True):
            near = partial(_near, system, claim.claim)
            found.update(first_found(claim.titles, state, first_hop_sources(system, state), near))
    click.echo(f"{found.total()} gold documents of {len(gold)} claims\n")
    for line in table(found):
        click.echo(line)


if __name__ == "__main__":
    main()
