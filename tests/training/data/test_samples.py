"""Training samples of demo claims: targets, labels, JSON round trip, and encoding."""

import json
import random
import re
from importlib import resources
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import Admiral, RetrievalConfig
from admiral.errors import RecordError
from admiral.gold import GoldClaim, Label, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from admiral.requirements import minilm_directory
from admiral.retrieval.first_stage import base_title
from proofs import NatOp, Proof, ProofStep
from training.data.claim_sources import Source, SourceClaim
from training.data.evidence_corpora import beam_negatives, searched_negatives
from training.data.records import write_records
from training.data.sample_builder import BuildSettings, SampleBuilder
from training.data.samples import (
    ProveSample,
    RerankDocument,
    RerankSample,
    RetrieveSample,
    Target,
    catalogue_heading,
    gold_continuations,
    read_samples,
    with_headings,
)
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_batches import (
    IGNORED,
    GenerationExample,
    SequenceBatch,
    bucket,
    collate,
    encode,
)
from training.on_policy import hop_samples
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer
from trie.safe_tokenizer import TASKS


def gold_claims():
    return list(read_gold(Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"))


def source_claims():
    return [SourceClaim(claim) for claim in gold_claims()]


@pytest.fixture(scope="module")
def kb():
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


@pytest.fixture(scope="module")
def samples(kb):
    return list(SampleBuilder(kb, BuildSettings(splits=3), 1).samples(source_claims(), TASKS))


@pytest.fixture(scope="module")
def tokens():
    return SafeTokenizer(mini_tokenizer(minilm_directory()))


def test_targets_name_gold_sentences_and_another_gold_title(samples):
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


def test_reranking_marks_the_gold_sentences(samples):
    gold = {c.claim: set(c.sentences) for c in gold_claims()}
    for sample in samples:
        if isinstance(sample, RerankSample):
            marked = {(d.title, i) for d in sample.documents for i in d.relevant}
            assert marked == gold[sample.claim]
            assert any(not d.relevant for d in sample.documents)


def test_reranking_samples_of_a_claim_have_different_negatives(kb):
    settings = BuildSettings(rerankings=3, rerank_documents=9)
    samples = list(SampleBuilder(kb, settings, 1).samples(source_claims()[:5], ["rerank"]))
    assert len(samples) == 15
    for claim in range(5):
        drawn = [
            frozenset(d.title for d in sample.documents)
            for sample in samples[3 * claim : 3 * claim + 3]
            if isinstance(sample, RerankSample)
        ]
        assert all(len(titles) == 9 for titles in drawn)
        assert len(set(drawn)) > 1


def test_proofs_of_incomplete_evidence_are_insufficient(samples):
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


def test_samples_round_trip(samples, tmp_path):
    path = tmp_path / "samples.jsonl"
    assert write_records(path, samples) == len(samples)
    assert list(read_samples(path)) == samples


@pytest.mark.parametrize(
    ("task", "change", "says"),
    [
        ("retrieve", {"hop": -1}, "hop': -1 should be greater than or equal to 0"),
        ("retrieve", {"claim": None}, "claim': None should be a valid string"),
        ("retrieve", {"evidence": [["a"]]}, "evidence[0][1]': is missing"),
        (
            "rerank",
            {"documents": [{"title": 5, "sentences": [], "relevant": []}]},
            "documents[0].title': 5 ",
        ),
        (
            "prove",
            {"proof": [{"claim": 5, "evidence": "", "operator": "="}]},
            "proof.steps[0].claim': 5 ",
        ),
    ],
)
def test_errors_name_the_field(samples, tmp_path, task, change, says):
    path = tmp_path / "samples.jsonl"
    write_records(path, [sample for sample in samples if sample.task == task][:2])
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{json.dumps(json.loads(second) | change)}\n")
    with pytest.raises(RecordError, match=rf"samples\.jsonl:2: .*{re.escape(says)}"):
        list(read_samples(path))


def test_batches_hold_each_example_once_within_the_budget(samples, tokens):
    config = TrainConfig(max_source=160, max_target=200)
    items = [item for sample in samples for item in encode(tokens, sample, config)]
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


EMMY = "66th Primetime Emmy Awards"
MEYERS = "Seth Meyers"
QUICK = {"reranker": "bm25", "judge": "never", "beam_size": 5, "title_beams": 2}


def test_the_evidence_of_each_hop_is_an_input():
    claim = GoldClaim(
        "1",
        "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973.",
        Label.REFUTES,
        (((EMMY, 0), (MEYERS, 0)),),
    )
    config = RetrievalConfig(hops="2", **QUICK)
    with Admiral.from_pretrained(config=config) as system:
        samples = list(hop_samples(system, [claim]))
        result = system.retrieve(claim.claim)
        documents = {title: system.kb.document(title) for title in (EMMY, MEYERS)}
    retrieve = [s for s in samples if isinstance(s, RetrieveSample)]
    assert [s.hop for s in retrieve] == [0, 1]  # after two hops, both documents are named
    assert all(s.gold == (EMMY, MEYERS) for s in retrieve)
    first = result.hops[0].evidence[: config.evidence]  # on which the search builds
    assert retrieve[1].evidence == tuple((s.title, s.text) for s in first)
    rerank = [s for s in samples if isinstance(s, RerankSample)]
    assert len(rerank) == 2 and not rerank[0].evidence and rerank[1].evidence
    for sample in rerank:
        marked = {(d.title, at) for d in sample.documents for at in d.relevant}
        assert marked and marked <= {(EMMY, 0), (MEYERS, 0)}
        for document in sample.documents:
            if document.title in documents:
                assert document.sentences == documents[document.title].sentences


def test_of_alternative_documents_any_may_be_first_and_none_comes_later():
    pages = (((MEYERS, None),), ((EMMY, None),))
    claim = GoldClaim("1", "The Awards were hosted by a comedian.", None, pages)
    config = RetrievalConfig(hops="2", **QUICK)
    with Admiral.from_pretrained(config=config) as system:
        (sample,) = hop_samples(system, [claim])
    assert isinstance(sample, RetrieveSample)
    assert (sample.hop, sample.gold) == (0, (MEYERS, EMMY))


DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def test_negatives_of_beams_are_wrong_documents_of_the_model(user_cache):
    claims = [claim for claim in read_gold(DEMO) if len(claim.titles) > 1][:2]
    config = RetrievalConfig(judge="never", beam_size=4, title_beams=2, rerank_documents=6)
    with Admiral.from_pretrained("mini", kb="demo", config=config) as system:
        of_beams = beam_negatives(claims, system, 20)
        of_search = searched_negatives(claims, system.kb, 20)
    for claim, negatives, other in zip(claims, of_beams, of_search, strict=True):
        titles = [document.title for document in negatives.documents]
        assert not set(titles) & set(claim.titles)
        assert len(titles) == len(set(titles)) >= len(other.documents)
        assert titles != [document.title for document in other.documents]
        assert not {pair[0] for pair in negatives.sentences} & set(claim.titles)


TITLES = st.sampled_from("ABCDEF")


@given(st.lists(TITLES, max_size=5), st.sets(TITLES, min_size=1, max_size=4), st.integers(0, 4))
def test_continuations_equal_the_best_sequences_of_the_grammar(evidence, gold, hop):
    count = min(hop, len(set(evidence)))
    allowed = {}
    for chosen in permutations(range(len(evidence)), count):
        documents = [evidence[at] for at in chosen]
        if list(chosen) == sorted(chosen) and len(set(documents)) == count:
            allowed[chosen] = len(gold & set(documents))
    best = max(allowed.values())
    expected = {
        Target(chosen, title)
        for chosen, covered in allowed.items()
        for title in gold - {evidence[at] for at in chosen}
        if covered == best
    }
    continuations = gold_continuations(evidence, gold, hop, random.Random(0), None)
    assert len(continuations) == len(expected) and set(continuations) == expected
    sample = gold_continuations(evidence, gold, hop, random.Random(0), 2)
    assert len(sample) == min(len(expected), 2) and set(sample) <= expected


def write_claims(path, title, count=40):
    """Write claims, each about the document of its name."""
    records = [
        {"id": n, "claim": f"Seth Meyers has {n} shows.", "gold": [title.format(n)]}
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return Source.parse(f"pages:{path}")


def texts_of(source):
    return [item.claim.claim for item in source.claims()]


def test_both_parts_together_are_all_claims(tmp_path):
    source = write_claims(tmp_path / "claims.jsonl", "Show {}")
    kept, held_out = source.without_held_out(0.3), source.only_held_out(0.3)
    assert sorted(texts_of(kept) + texts_of(held_out)) == sorted(texts_of(source))
    assert texts_of(kept)
    assert texts_of(held_out)
    assert texts_of(source.only_held_out(None)) == texts_of(source)


# Words with commas and other punctuation, but without the parentheses of qualifiers.
WORDS = st.text("ABcdé0,.'-&!", min_size=1, max_size=4)
BASES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
QUALIFIERS = st.sampled_from(["", " (film)", " (1954 film)", "(x)", "  (y, z)", " ()"])
TITLES_OF_HEADINGS = st.builds(str.__add__, BASES, QUALIFIERS)


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Seth Meyers", "Meyers, Seth"),
        ("Alien (film)", "Alien (film)"),
        ("The Tonight Show (1954)", "Show, The Tonight (1954)"),
        ("Jeopardy!", "Jeopardy!"),
        ("Pittsview, Alabama", "Alabama, Pittsview,"),
        ("Greater Swiss  Mountain Dog", "Dog, Greater Swiss Mountain"),
        ("(500) Days of Summer", "Summer, (500) Days of"),
        ("(film)", "(film)"),
        ("", ""),
    ],
)
def test_the_last_word_comes_first_and_the_qualifier_last(title, heading):
    assert catalogue_heading(title) == heading


def title_of(heading):
    """Invert the rule: move the first word of several, which ends with a comma, to the end."""
    base = base_title(heading)
    first, _, rest = base.partition(" ")
    return f"{rest} {first.removesuffix(',')}{heading[len(base) :]}" if rest else heading


@given(TITLES_OF_HEADINGS)
def test_different_titles_have_different_headings(title):
    assert title_of(catalogue_heading(title)) == title


def samples_with_headings():
    evidence = (("Seth Meyers", "Seth Meyers hosts Late Night."), ("Alien (film)", "A film."))
    document = RerankDocument("Seth Meyers", ("A text.",), (0,))
    return [
        *(RetrieveSample(f"Claim {n}", evidence, 1, ("Late Night", "Rome")) for n in range(200)),
        RerankSample("A claim", evidence, (document,)),
        ProveSample("A claim", evidence, Proof((ProofStep("A", "B", NatOp.INDEPENDENCE),))),
    ]


def test_all_titles_of_a_share_of_retrieval_samples_become_headings():
    before, after = (
        samples_with_headings(),
        list(with_headings(samples_with_headings(), 0.25, seed=3)),
    )
    changed = [two for one, two in zip(before, after, strict=True) if one != two]
    assert 30 < len(changed) < 70
    texts = ("Seth Meyers hosts Late Night.", "A film.")
    for sample in changed:
        assert isinstance(sample, RetrieveSample)
        assert sample.evidence == tuple(zip(("Meyers, Seth", "Alien (film)"), texts, strict=True))
        assert (sample.hop, sample.gold) == (1, ("Night, Late", "Rome"))
    assert [one.claim for one in after] == [one.claim for one in before]
    assert list(with_headings(samples_with_headings(), 0.25, seed=3)) == after
    assert list(with_headings(samples_with_headings(), 0.25, seed=4)) != after


def test_errors_name_the_line(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text('{"task": "fly", "claim": "c", "evidence": []}\n')
    with pytest.raises(RecordError, match=r"samples\.jsonl:1"):
        list(read_samples(path))
