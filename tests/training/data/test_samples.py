"""Training samples of demo claims: targets, labels, JSON round trip, and encoding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
import torch

from admiral.errors import RecordError
from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from admiral.requirements import minilm_directory
from training.data.sample_builder import BuildSettings, SampleBuilder
from training.data.samples import (
    ProveSample,
    RerankSample,
    RetrieveSample,
    Sample,
    read_samples,
    write_samples,
)
from training.multitask.multitask_model import sentence_means
from training.multitask.sample_batches import IGNORED, RerankBatch, SequenceBatch, bucket, collate
from training.multitask.sample_encoding import GenerationExample, RerankingExample, encode, task_of
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer
from trie.model.safe_tokenizer import TASKS


def gold_claims() -> list[GoldClaim]:
    return list(read_gold(Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"))


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


@pytest.fixture(scope="module")
def samples(kb: KnowledgeBase) -> list[Sample]:
    return list(SampleBuilder(kb, BuildSettings(), 1).samples(gold_claims(), TASKS))


@pytest.fixture(scope="module")
def tokens() -> SafeTokenizer:
    return SafeTokenizer(mini_tokenizer(minilm_directory()))


def test_targets_name_gold_sentences_and_another_gold_title(
    samples: list[Sample],
) -> None:
    gold = {c.claim: c for c in gold_claims()}
    retrieve = [s for s in samples if isinstance(s, RetrieveSample)]
    assert {s.hop for s in retrieve} == {0, 1, 2, 3}
    for sample in retrieve:
        titles = gold[sample.claim].titles
        assert sample.gold == titles and sample.targets()
        for target in sample.targets():
            kept = [sample.evidence[i][0] for i in target.identifiers]
            assert list(target.identifiers) == sorted(set(target.identifiers))
            assert len(set(kept)) == len(kept) == sample.hop and set(kept) < set(titles)
            assert target.title in titles and target.title not in kept
        assert len(sample.evidence) <= 5


def test_reranking_marks_the_gold_sentences(samples: list[Sample]) -> None:
    gold = {c.claim: set(c.sentences) for c in gold_claims()}
    for sample in samples:
        if isinstance(sample, RerankSample):
            marked = {(d.title, i) for d in sample.documents for i in d.relevant}
            assert marked == gold[sample.claim]
            assert any(not d.relevant for d in sample.documents)


def test_reranking_samples_of_a_claim_have_different_negatives(kb: KnowledgeBase) -> None:
    settings = BuildSettings(rerankings=3, rerank_documents=9)
    samples = list(SampleBuilder(kb, settings, 1).samples(gold_claims()[:5], ["rerank"]))
    assert len(samples) == 15
    for claim in range(5):
        drawn = [
            frozenset(d.title for d in sample.documents)
            for sample in samples[3 * claim : 3 * claim + 3]
            if isinstance(sample, RerankSample)
        ]
        assert all(len(titles) == 9 for titles in drawn)
        assert len(set(drawn)) > 1


def test_proofs_of_incomplete_evidence_are_insufficient(samples: list[Sample]) -> None:
    gold = {c.claim: c for c in gold_claims()}
    verdicts = set()
    for sample in samples:
        if isinstance(sample, ProveSample):
            present = {title for title, _ in sample.evidence}
            whole = set(gold[sample.claim].titles) <= present
            assert sample.proof.sufficient == whole
            sample.proof.validate(sample.claim, sample.evidence)
            verdicts.add(whole)
    assert verdicts == {True, False}


def test_samples_round_trip(samples: list[Sample], tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    assert write_samples(path, samples) == len(samples)
    assert list(read_samples(path)) == samples


def test_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"task": "fly", "claim": "c", "evidence": []}\n')
    with pytest.raises(RecordError, match=r"samples\.jsonl:1"):
        list(read_samples(path))


@pytest.mark.parametrize(
    ("task", "change", "says"),
    [
        ("retrieve", {"hop": -1}, "field 'hop': -1 is not a whole number of at least 0"),
        ("retrieve", {"hop": float("inf")}, "field 'hop': inf is not a whole number"),
        ("retrieve", {"hop": True}, "field 'hop': True is not a whole number"),
        ("retrieve", {"gold": []}, "field 'gold': is empty"),
        ("rerank", {"documents": [{"title": "a", "sentences": ["b"], "relevant": [True]}]}, "True"),
        ("retrieve", {"claim": None}, "a text was expected, not None"),
        ("retrieve", {"claim": " "}, "field 'claim': is empty"),
        ("retrieve", {"gold": [""]}, "field 'gold': is empty"),
        ("retrieve", {"evidence": [["a"]]}, "a title and a sentence were expected"),
        ("retrieve", {"evidence": ["ab"]}, "a title and a sentence were expected"),
        ("retrieve", {"evidence": [{"title": "a", "sentence": "b"}]}, "a title and a sentence"),
        ("retrieve", {"evidence": {}}, "field 'evidence': a list was expected"),
        ("rerank", {"documents": [{"title": 5, "sentences": [], "relevant": []}]}, "not 5"),
        ("rerank", {"documents": [{"title": "a", "sentences": [1], "relevant": []}]}, "not 1"),
        (
            "rerank",
            {"documents": [{"title": "a", "sentences": ["b"], "relevant": [1]}]},
            "not a pos",
        ),
        ("prove", {"proof": [{"claim": 5, "evidence": "", "operator": "="}]}, "not 5"),
        ("prove", {"proof": 5}, "field 'proof': a list was expected"),
    ],
)
def test_errors_name_the_field(
    samples: list[Sample], tmp_path: Path, task: str, change: dict[str, object], says: str
) -> None:
    path = tmp_path / "samples.jsonl"
    write_samples(path, [sample for sample in samples if task_of(sample) == task][:2])
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{json.dumps(json.loads(second) | change)}\n")
    with pytest.raises(RecordError, match=rf"samples\.jsonl:2: .*{re.escape(says)}"):
        list(read_samples(path))


def test_deeply_nested_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 20_000 + "\n")
    with pytest.raises(RecordError, match=r"deep\.jsonl:1"):
        list(read_samples(tmp_path / "deep.jsonl"))


def test_batches_hold_each_example_once_within_the_budget(
    samples: list[Sample], tokens: SafeTokenizer
) -> None:
    items = [i for s in samples if (i := encode(tokens, s, 160, 200)) is not None]
    pairs = [i for i in items if isinstance(i, GenerationExample)]
    batches = bucket(pairs, 2000, 5)
    assert sorted(id(p) for b in batches for p in b) == sorted(id(p) for p in pairs)
    for batch in batches:
        collated = collate(batch, tokens.pad, tokens.start)
        assert isinstance(collated, SequenceBatch)
        rows, width = collated.input_ids.shape
        assert rows == 1 or rows * (width + 2 * collated.labels.shape[1]) <= 2000
        assert (collated.labels == IGNORED).sum() == collated.labels.numel() - sum(
            p.length for p in batch if isinstance(p, GenerationExample)
        )
    assert bucket(pairs, 2000, 5) == batches
    assert bucket(pairs, 2000, 6) != batches


def test_sentence_scores_are_means_over_their_tokens(
    samples: list[Sample], tokens: SafeTokenizer
) -> None:
    groups = [
        g for s in samples[:30] if isinstance(g := encode(tokens, s, 160, 200), RerankingExample)
    ][:3]
    batch = collate(groups, tokens.pad, tokens.start)
    assert isinstance(batch, RerankBatch)
    values = torch.rand(batch.input_ids.shape)
    means = sentence_means(values, batch)
    row = 0
    for claim, group in enumerate(groups):
        place = 0
        for one, marks in zip(group.passes, group.gold, strict=True):
            for (_, start, end), mark in zip(one.spans, marks, strict=True):
                wanted = values[row, start:end].mean().item()
                assert means[claim, place].item() == pytest.approx(wanted, abs=1e-5)
                assert batch.gold[claim, place] == mark
                place += 1
            row += 1
        assert batch.real[claim].sum() == place
    assert row == len(batch.input_ids)
