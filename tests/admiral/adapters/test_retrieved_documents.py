"""Documents as the adapters return them."""

import json

from admiral.adapters import retrieved_documents

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."


def test_documents_have_text_evidence_and_proof(quick):
    result = quick.retrieve(CLAIM, hops=2)
    documents = retrieved_documents(quick, result, 20)
    assert [one.title for one in documents] == [one.title for one in result.documents]
    assert [one.metadata["rank"] for one in documents] == [*range(1, 21)]
    for one, ranked in zip(documents, result.documents, strict=True):
        assert one.metadata["title"] == one.title
        assert one.metadata["hop"] == ranked.hop
        assert (one.metadata["claim"], one.metadata["stopped"]) == (CLAIM, "max_hops")
        sentences = quick.kb.document(one.title).sentences
        assert all(sentence in one.text for sentence in sentences)
        for sentence in one.metadata["evidence"]:
            assert sentences[sentence["sentence_id"]] == sentence["text"]
        assert json.loads(json.dumps(one.metadata)) == one.metadata
    evidence = [
        (one.title, sentence["sentence_id"])
        for one in documents
        for sentence in one.metadata["evidence"]
    ]
    titles = {one.title for one in documents}
    assert sorted(evidence) == sorted(s.key for s in result.evidence if s.title in titles)
    assert evidence
    assert result.hops[-1].proof is not None
    assert documents[0].metadata["proof"] == result.to_json()["hops"][-1]["proof"]
    assert documents[0].metadata["missing"] == list(result.hops[-1].missing or ())
    assert len(retrieved_documents(quick, result, 3)) == 3


def test_documents_of_the_first_stage_have_no_proof(quick):
    documents = retrieved_documents(quick, quick.retrieve(CLAIM, hops=0), 3)
    metadata = [one.metadata for one in documents]
    assert [
        (m["hop"], m["sufficient"], m["proof"], m["missing"], m["evidence"]) for m in metadata
    ] == [(0, False, None, None, [])] * 3
