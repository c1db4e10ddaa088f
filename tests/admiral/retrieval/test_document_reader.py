"""Long documents: hops read a bounded text, with the sentences that matter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from admiral.kb import KnowledgeBase, build
from admiral.kb.bm25 import BACKENDS
from admiral.kb.knowledge_base import UnknownTitleError
from admiral.records import Sentence
from admiral.retrieval.document_reader import PassageReader

AUTHOR = "It was written by Daniel Stenberg."
FILLER = [f"curl has the option {n}, which was written to print more of it." for n in range(5000)]
MANUAL = [*FILLER[:3000], AUTHOR, *FILLER[3000:]]
DOCUMENTS = [
    {"title": "curl", "sentences": MANUAL},
    {"title": "wget", "sentences": ["wget is a program.", "", "It was written by Hrvoje Nikšić."]},
    *({"title": f"page {n}", "sentences": [f"This page was written in {n}."]} for n in range(30)),
]
CLAIM = "The author of curl, which was written in C, is Daniel Stenberg."


@pytest.fixture(scope="module", params=(*BACKENDS, "whole", "none"))
def kb(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeBase]:
    """Knowledge bases with passages, of whole documents, and without a BM25 index."""
    folder: Path = tmp_path_factory.mktemp("long")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    backend = "bm25s" if request.param == "whole" else request.param
    passages = request.param != "whole"
    build(corpus, folder / "kb", bm25=backend, passages=passages, progress=False)
    with KnowledgeBase.open(folder / "kb") as opened:
        yield opened


def test_the_sentence_that_answers_a_claim_is_read(kb: KnowledgeBase) -> None:
    ((curl, wget),) = PassageReader(kb, 64, 60_000).read([CLAIM], [[]], [["curl", "wget"]])
    assert len(curl.sentences) == len(MANUAL)
    assert curl.sentences[3000] == AUTHOR
    assert sum(map(bool, curl.sentences)) == 64
    assert wget == kb.document("wget")


def test_the_text_of_a_hop_is_bounded(kb: KnowledgeBase) -> None:
    ((curl, wget),) = PassageReader(kb, 64, 500).read([CLAIM], [[]], [["curl", "wget"]])
    assert sum(map(len, curl.sentences)) <= 250
    assert curl.sentences[3000] == AUTHOR
    assert wget == kb.document("wget")
    ((alone,),) = PassageReader(kb, 64, 500).read([CLAIM], [[]], [["curl"]])
    assert 250 < sum(map(len, alone.sentences)) <= 500


def test_short_documents_are_read_as_a_whole(kb: KnowledgeBase) -> None:
    titles = ["wget", "page 3", "page 4"]
    (read,) = PassageReader(kb, 64, 1).read([CLAIM], [[]], [titles])
    assert read == [kb.document(title) for title in titles]


def test_sentences_that_match_the_evidence_are_read_too(kb: KnowledgeBase) -> None:
    evidence = [Sentence("wget", 2, "wget and option 4321 are alike.")]
    reader = PassageReader(kb, 3, 60_000)
    claim = "The author of wget knows Stenberg."
    without, with_evidence = (
        reader.read([claim], [chosen], [["curl"]])[0][0].sentences for chosen in ([], evidence)
    )
    assert without[3000] == with_evidence[3000] == AUTHOR
    assert not without[4322]
    assert with_evidence[4322] == FILLER[4321]


def test_a_batch_reads_what_single_claims_read(kb: KnowledgeBase) -> None:
    reader = PassageReader(kb, 5, 2000)
    claims, titles = [CLAIM, "Page 7 was written."], [["curl", "page 7"], ["wget", "curl"]]
    batch = reader.read(claims, [[], []], titles)
    assert batch == [reader.read([c], [[]], [t])[0] for c, t in zip(claims, titles, strict=True)]


def test_a_claim_without_terms_reads_the_beginning(kb: KnowledgeBase) -> None:
    ((curl,),) = PassageReader(kb, 3, 60_000).read(["?"], [[]], [["curl"]])
    assert [i for i, text in enumerate(curl.sentences) if text] == [0, 1, 2]


def test_an_unknown_title(kb: KnowledgeBase) -> None:
    with pytest.raises(UnknownTitleError, match="no document has the title 'nothing'"):
        kb.best_passages("curl", ["nothing"], 2)


def test_best_passages_are_numbered_by_sentences(kb: KnowledgeBase) -> None:
    (curl,), (wget,) = kb.best_passages(CLAIM, ["curl", "wget"], 1)
    assert wget == (0, None)
    start, end = curl
    assert start <= 3000 < (len(MANUAL) if end is None else end)
    if kb.settings["passages"] and kb.settings["bm25"] != "none":
        assert end is not None
        assert end - start <= 32
    else:
        assert curl == (0, None)


def test_rare_terms_have_a_high_inverse_document_frequency(kb: KnowledgeBase) -> None:
    frequencies = kb.inverse_document_frequencies("Stenberg has written it, never seen")
    assert set(frequencies) == {"stenberg", "ha", "written", "never", "seen"}
    if kb.settings["bm25"] == "none":
        assert set(frequencies.values()) == {1.0}
    else:
        assert frequencies["never"] > frequencies["stenberg"] > frequencies["written"]
