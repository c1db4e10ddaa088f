"""Pseudo-citations of the demo knowledge base, and samples of query expansion."""

import json
from itertools import islice

import pytest
from click.testing import CliRunner

from admiral.kb import KnowledgeBase, demo_kb
from admiral.retrieval.first_stage import find_mentions
from training.data.samples import RetrieveSample, read_samples
from training.expansion_data import TITLE_WORDS, main, pseudo_citations
from training.link_prediction import PseudoClaimSampler
from training.link_prediction import main as link_prediction


@pytest.fixture(scope="module")
def kb(user_cache):
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


def wice_file(path, pages):
    """Write claims in the format of WiCE, one per page."""
    records = [
        {
            "label": "supported",
            "supporting_sentences": [[1]],
            "claim": f"The bridge number {page} was opened in 1932.",
            "evidence": [f"(meta data) TITLE: Bridge [{page}] opens", "It was opened in 1932."],
            "meta": {
                "id": f"c{page}",
                "claim_title": f"Page {page}",
                "claim_section": "History.",
                "claim_context": "It is a bridge.",
            },
        }
        for page in range(pages)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_page_and_source_mention_each_other(kb):
    found = list(pseudo_citations(kb, masked=0))
    assert found
    for citation in found:
        page = kb.document(citation.claim.page)
        assert citation.claim.claim in page.sentences
        assert any(
            citation.source in mention.titles for mention in find_mentions(kb, citation.claim.claim)
        )
        assert page.title in {
            title
            for mention in find_mentions(kb, " ".join(kb.document(citation.source).sentences))
            for title in mention.titles
        }
        at = page.sentences.index(citation.claim.claim)
        assert citation.claim.before == " ".join(page.sentences[:at])


def test_masks_hide_the_source_and_the_seed_decides(kb):
    plain = list(pseudo_citations(kb, 1, masked=0))
    hidden = list(pseudo_citations(kb, 1, masked=1))
    assert hidden == list(pseudo_citations(kb, 1, masked=1))
    assert [each.source for each in plain] == [each.source for each in hidden]
    assert all(a.claim.claim != b.claim.claim for a, b in zip(plain, hidden, strict=True))


def test_excluded_titles_are_neither_page_nor_source(kb):
    first = next(pseudo_citations(kb))
    excluded = {first.claim.page, first.source}
    for citation in pseudo_citations(kb, excluded=excluded):
        assert not excluded & {citation.claim.page, citation.source}


def run(*arguments):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_the_program_separates_pages(tmp_path, user_cache):
    wice = wice_file(tmp_path / "train.jsonl", 30)
    dev = wice_file(tmp_path / "dev.jsonl", 3)
    out, left = tmp_path / "out.jsonl", tmp_path / "left.jsonl"
    options = ["--wice", str(wice), "--exclude", str(dev), "--repeat", "2", "--count", "5"]
    run(*options, "--hold-out", "0.3", "--held-out", str(left), str(out))
    samples = [each for each in read_samples(out) if isinstance(each, RetrieveSample)]
    held = [each for each in read_samples(left) if isinstance(each, RetrieveSample)]
    of_wice = [each for each in samples if each.gold[0].startswith("Bridge (")]
    assert len(of_wice) + 2 * len(held) == 2 * 27 and held and of_wice
    numbers = [{each.claim.split("number ")[1] for each in part} for part in (held, of_wice)]
    assert not numbers[0] & numbers[1]
    assert not any(f"bridge number {page} " in each.claim for page in range(3) for each in samples)
    # Some samples have the whole context, others the claim alone.
    assert {"The" in each.claim.split()[0] for each in of_wice} == {True, False}
    for sample in of_wice:
        (title,) = sample.gold
        # Brackets delimit titles in the output of the retriever.
        assert title.startswith("Bridge (") and len(title.split()) <= TITLE_WORDS
    before = out.read_bytes()
    run(*options, "--hold-out", "0.3", "--held-out", str(left), str(out))
    assert out.read_bytes() == before


def test_held_out_needs_a_share(tmp_path):
    done = CliRunner().invoke(main, [str(tmp_path / "out.jsonl"), "--hold-out", "0.2"])
    assert done.exit_code == 2 and "--held-out" in done.output


def first_samples(kb, seed=0, excluded=()):
    return list(islice(PseudoClaimSampler(kb, seed, excluded).samples(), 300))


def test_evidence_is_quoted_and_links_the_gold_documents(kb):
    hops = set()
    for sample in first_samples(kb):
        hops.add(sample.hop)
        assert sample.claim and sample.targets() and len(set(sample.gold)) == len(sample.gold)
        assert len(sample.evidence) <= 5 and len(set(sample.evidence)) == len(sample.evidence)
        for title, sentence in sample.evidence:
            assert sentence in kb.document(title).sentences
        assert bool(sample.evidence) == bool(sample.hop)
    assert hops == {0, 1, 2}


def test_excluded_documents_are_never_gold(kb):
    excluded = tuple({title for sample in first_samples(kb)[:50] for title in sample.gold})
    assert all(set(excluded).isdisjoint(sample.gold) for sample in first_samples(kb, 0, excluded))


def test_the_program_writes_the_requested_number_of_samples(tmp_path):
    out = tmp_path / "links.jsonl"
    result = CliRunner().invoke(link_prediction, [str(out), "--count", "20"])
    assert result.exit_code == 0, result.output
    assert len(list(read_samples(out))) == 20
