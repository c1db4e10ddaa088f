"""The retriever for LangChain, used by the real package."""

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="needs LangChain: pip install '.[langchain]'")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from pydantic import ValidationError

from admiral import AdmiralError
from admiral.adapters.langchain import AdmiralRetriever

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
OTHERS = ["A river of Paris.", "The composer of a film by Ridley Scott was born in Frankfurt."]


@pytest.fixture(scope="module")
def retriever(quick):
    return AdmiralRetriever(system=quick, k=5, hops=1)


def essence(documents):
    return [(one.id, one.page_content) for one in documents]


class Log(BaseCallbackHandler):
    """Record the starts, ends and errors of runs."""

    def __init__(self):
        self.events = []

    def on_retriever_start(self, *_, **__):
        self.events.append("start")

    def on_retriever_end(self, documents, **_):
        self.events.append(f"end {len(documents)}")

    def on_chain_start(self, *_, **__):
        self.events.append("start")

    def on_chain_end(self, outputs, *, run_id, **_):
        self.events.append(f"end {len(outputs)}")

    def on_chain_error(self, error, **_):
        self.events.append(str(error))


def test_invoke(retriever, quick):
    log = Log()
    documents = retriever.invoke(CLAIM, config={"callbacks": [log]})
    result = quick.retrieve(CLAIM, hops=1)
    assert [one.id for one in documents] == [one.title for one in result.documents[:5]]
    assert [one.metadata["title"] for one in documents] == [one.id for one in documents]
    scores = [one.metadata["score"] for one in documents]
    assert scores == [round(one.score, 6) for one in result.documents[:5]]
    assert any(one.metadata["evidence"] for one in documents)
    assert documents[0].metadata["stopped"] == "max_hops"
    assert {"claim", "evidence", "operator", "title"} <= documents[0].metadata["proof"][0].keys()
    assert log.events == ["start", "end 5"]
    assert Document.model_validate_json(documents[0].model_dump_json()) == documents[0]


def test_a_batch_is_processed_together_and_reported_each(retriever, quick, monkeypatch):
    wanted = [essence(retriever.invoke(claim)) for claim in (CLAIM, *OTHERS)]
    sizes = []
    retrieve_many = quick.retrieve_many

    def counted(claims, hops=None):
        batch = list(claims)
        sizes.append(len(batch))
        return retrieve_many(batch, hops)

    monkeypatch.setattr(quick, "retrieve_many", counted)
    log = Log()
    found = retriever.batch([CLAIM, *OTHERS], config={"callbacks": [log]})
    assert [essence(documents) for documents in found] == wanted
    again = asyncio.run(retriever.abatch([CLAIM, *OTHERS]))
    assert [essence(documents) for documents in again] == wanted
    assert sizes == [3, 3]
    assert log.events == ["start"] * 3 + ["end 5"] * 3
    assert retriever.batch([]) == []


def test_a_bad_claim_does_not_fail_the_others(retriever):
    with pytest.raises(AdmiralError, match="is empty"):
        retriever.invoke(" ")
    with pytest.raises(AdmiralError, match="claim '2': is empty"):
        retriever.batch([CLAIM, ""])
    for outcomes in (
        retriever.batch([CLAIM, ""], return_exceptions=True),
        asyncio.run(retriever.abatch([CLAIM, ""], return_exceptions=True)),
    ):
        assert len(outcomes[0]) == 5
        assert isinstance(outcomes[1], AdmiralError)


def test_settings_are_checked(quick):
    with pytest.raises(ValidationError, match="greater than 0"):
        AdmiralRetriever(system=quick, k=0)
    with pytest.raises(ValidationError, match="Admiral"):
        AdmiralRetriever(system="mini")
    with pytest.raises(ValidationError, match="top_k"):
        AdmiralRetriever(system=quick, top_k=3)  # it is `k` here
    with pytest.raises(AdmiralError, match="hops"):
        AdmiralRetriever(system=quick, hops="many").invoke(CLAIM)
