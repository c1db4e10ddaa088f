"""Stored sentence embeddings: size, time to compute, error, and seconds per claim with and without.

    python -m benchmarks.stored_embeddings CLAIMS.jsonl --kb KB --limit 20

The knowledge base is copied, and embeddings are stored in the copy. Seconds are processor time of
this process. Each claim is answered by both in turn, with stages of its own, so that no sentence
embedding is cached from an earlier claim.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from admiral import Admiral, Claim, RetrievalConfig
from admiral.io.claims import evenly_spaced, read_claims
from admiral.kb import KnowledgeBase, embed, locate
from admiral.models.checkpoint import Checkpoint, load_checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.records import Sentence
from admiral.reranking.similarity import SimilarityReranker
from admiral.retrieval.stage_assembly import build_sentence_encoder

_DOCUMENTS = 40  # whose sentences are compared for each claim


def rank_agreement(exact: Sequence[Sentence], rounded: Sequence[Sentence]) -> dict[str, float]:
    """Compare two rankings of the same sentences, best first.

    Returns
    -------
    dict
        ``error`` and ``largest``: mean and largest absolute difference of the scores; ``first``: 1
        if the best sentence is the same; ``five``: share of the best five in common; ``spearman``:
        rank correlation.
    """
    scores = {sentence.key: sentence.score for sentence in rounded}
    gaps = [abs(sentence.score - scores[sentence.key]) for sentence in exact]
    ranks = {sentence.key: rank for rank, sentence in enumerate(rounded)}
    best = [{sentence.key for sentence in ranking[:5]} for ranking in (exact, rounded)]
    order = [ranks[sentence.key] for sentence in exact]
    return {
        "error": float(np.mean(gaps)),
        "largest": max(gaps),
        "first": float(exact[0].key == rounded[0].key),
        "five": len(best[0] & best[1]) / len(best[0]),
        "spearman": float(np.corrcoef(order, range(len(order)))[0, 1]),
    }


def compare_scores(kb: KnowledgeBase, claims: Sequence[Claim], config: RetrievalConfig) -> str:
    """Return a line on how stored vectors change the scores of the similarity reranker."""
    encoder = build_sentence_encoder(config)
    texts = [claim.text for claim in claims]
    documents = [[kb.document(hit.title) for hit in hits] for hits in kb.search(texts, _DOCUMENTS)]
    none: list[list[Sentence]] = [[] for _ in texts]
    rankings = [
        SimilarityReranker(encoder, stored).score(texts, documents, none)
        for stored in (None, kb.stored_vectors(encoder))
    ]
    compared = [rank_agreement(*pair) for pair in zip(*rankings, strict=True)]
    means = {key: float(np.mean([each[key] for each in compared])) for key in compared[0]}
    largest = max(each["largest"] for each in compared)
    return (
        f"cosine: mean absolute error {means['error']:.5f}, largest {largest:.5f}; same best "
        f"sentence {means['first']:.3f}, best five in common {means['five']:.3f}, Spearman "
        f"{means['spearman']:.5f} ({sum(map(len, rankings[0]))} sentences)"
    )


def seconds_per_claim(
    kbs: Sequence[KnowledgeBase],
    checkpoint: Checkpoint,
    claims: Sequence[Claim],
    config: RetrievalConfig,
) -> str:
    """Return a line on the processor time of claims over each knowledge base, after a first one."""
    seconds: list[list[float]] = [[] for _ in kbs]
    evidence: list[list[set[tuple[str, int]]]] = [[] for _ in kbs]
    for claim in claims:
        for number, kb in enumerate(kbs):
            system = Admiral(kb, checkpoint, config)
            began = time.process_time()
            result = system.retrieve(claim.text)
            seconds[number].append(time.process_time() - began)
            evidence[number].append({sentence.key for sentence in result.evidence})
    without, stored = (float(np.mean(times[1:])) for times in seconds)
    pairs = list(zip(*evidence, strict=True))
    same = sum(one == other for one, other in pairs)
    return (
        f"{without:.3f} s per claim without stored embeddings, {stored:.3f} s with them "
        f"({without / stored:.2f} times); the same evidence for {same} of {len(pairs)}"
    )


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--limit", default=20, show_default=True, help="Claims, spread over the file.")
@click.option("--fast", "only_fast", is_flag=True, help="Only with the settings of --fast.")
def main(claims: Path, kb: str, limit: int, only_fast: bool) -> None:
    """Print size, time, error and seconds per claim of stored embeddings."""
    asked = evenly_spaced(list(read_claims(claims)), limit)
    config = RetrievalConfig()
    device, dtype = choose_device(config.device), choose_dtype(config)
    checkpoint = load_checkpoint(config.model, device, dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kb")
        shutil.copytree(locate(kb), path)
        encoder = build_sentence_encoder(config)
        began = time.process_time()
        report = embed(path, encoder)
        spent = time.process_time() - began
        click.echo(
            f"{report.sentences} sentences: {report.bytes / report.sentences:.0f} bytes and "
            f"{1000 * spent / report.sentences:.2f} s per 1,000"
        )
        with KnowledgeBase.open(locate(kb)) as plain, KnowledgeBase.open(path) as stored:
            click.echo(compare_scores(stored, asked, config))
            for name, each in (("--fast", RetrievalConfig.fast()), ("default", config)):
                if only_fast and each is config:
                    continue
                line = seconds_per_claim([plain, stored], checkpoint, asked, each)
                click.echo(f"{name}: {line}")


if __name__ == "__main__":
    main()
