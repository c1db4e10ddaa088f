"""Samples whose inputs are the evidence of the system's own hops."""

from __future__ import annotations

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.gold import GoldClaim, Label
from training.data.samples import RerankSample, RetrieveSample
from training.on_policy import hop_samples

EMMY = "66th Primetime Emmy Awards"
MEYERS = "Seth Meyers"


def test_the_evidence_of_each_hop_is_an_input() -> None:
    claim = GoldClaim(
        "1",
        "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973.",
        Label.REFUTES,
        (((EMMY, 0), (MEYERS, 0)),),
    )
    config = RetrievalConfig(hops="2", judge="never", beam_size=5)
    with Admiral.from_pretrained(config=config) as system:
        samples = list(hop_samples(system, [claim]))
        result = system.retrieve(claim.claim)
        documents = {title: system.kb.document(title) for title in (EMMY, MEYERS)}
    retrieve = [s for s in samples if isinstance(s, RetrieveSample)]
    assert [s.hop for s in retrieve] == [0, 1]  # after two hops, both documents are named
    assert all(s.gold == (EMMY, MEYERS) for s in retrieve)
    first = result.hops[0].evidence
    assert retrieve[1].evidence == tuple((s.title, s.text) for s in first)
    rerank = [s for s in samples if isinstance(s, RerankSample)]
    assert len(rerank) == 2 and not rerank[0].evidence and rerank[1].evidence
    for sample in rerank:
        marked = {(d.title, at) for d in sample.documents for at in d.relevant}
        assert marked and marked <= {(EMMY, 0), (MEYERS, 0)}
        for document in sample.documents:
            if document.title in documents:
                assert document.sentences == documents[document.title].sentences


def test_of_alternative_documents_any_may_be_first_and_none_comes_later() -> None:
    pages = (((MEYERS, None),), ((EMMY, None),))
    claim = GoldClaim("1", "The Awards were hosted by a comedian.", None, pages)
    config = RetrievalConfig(hops="2", judge="never", beam_size=5)
    with Admiral.from_pretrained(config=config) as system:
        (sample,) = hop_samples(system, [claim])
    assert isinstance(sample, RetrieveSample)
    assert (sample.hop, sample.gold) == (0, (MEYERS, EMMY))
