from __future__ import annotations

import json

import pytest

from admiral import Admiral, AdmiralError
from admiral.adapters.retrieved_documents import found_documents

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."


def test_documents_carry_what_speaks_for_them(quick: Admiral) -> None:
    result = quick.retrieve(CLAIM, hops=2)
    found = found_documents(quick, result, 20)
    assert [one.title for one in found] == [one.title for one in result.documents]
    assert [one.metadata["rank"] for one in found] == [*range(1, 21)]
    for one, ranked in zip(found, result.documents, strict=True):
        assert one.metadata["title"] == one.title
        assert one.metadata["hop"] == ranked.hop
        assert (one.metadata["claim"], one.metadata["stopped"]) == (CLAIM, "max_hops")
        sentences = quick.kb.document(one.title).sentences
        assert all(sentence in one.text for sentence in sentences)
        for sentence in one.metadata["evidence"]:
            assert sentences[sentence["sentence_id"]] == sentence["text"]
        assert json.loads(json.dumps(one.metadata)) == one.metadata
    told = [
        (one.title, sentence["sentence_id"])
        for one in found
        for sentence in one.metadata["evidence"]
    ]
    there = {one.title for one in found}
    assert sorted(told) == sorted(s.key for s in result.evidence if s.title in there)
    assert told
    assert result.hops[-1].proof is not None
    assert found[0].metadata["proof"] == result.hops[-1].proof.to_json()
    assert found[0].metadata["missing"] == list(result.hops[-1].missing or ())
    assert len(found_documents(quick, result, 3)) == 3


def test_a_closed_system_is_one_clear_error(quick: Admiral) -> None:
    result = quick.retrieve(CLAIM, hops=1)
    other = Admiral(quick.kb, quick.checkpoint, quick.config, quick.stages)
    other.uses.close()
    with pytest.raises(AdmiralError, match="the system was closed"):
        found_documents(other, result, 3)
