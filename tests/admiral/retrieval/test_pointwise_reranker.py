"""The reranker that asks a seq2seq model whether a sentence is relevant."""

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from admiral.models.checkpoint import load_checkpoint
from admiral.protocols import claim_limits
from admiral.records import Document
from admiral.retrieval.rerankers import PointwiseReranker
from admiral.retrieval.stage_assembly import build_reranker
from tests.training.tiny import write_hub_directory, write_t5_directory

CLAIMS = ["Rome is on the Tiber.", "Oslo is a river."]
DOCUMENTS = [
    [Document("Rome", ("Rome is a city.", "", "The Tiber is a river.")), Document("Oslo", ())],
    [Document("Oslo", ("Oslo is a city. " * 9, "Oslo is a city."))],
]


@pytest.fixture(scope="module", params=[write_t5_directory, write_hub_directory])
def folder(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("models") / "model", positions=96)


def answer_log_odds(folder, checkpoint, claim, title, text):
    """Return log P(true) - log P(false), by the model itself without batches or a cache."""
    tokens, room = checkpoint.tokens, checkpoint.model.max_source
    tail = [*tokens.encode("Relevant:"), tokens.eos]
    query = tokens.encode(f"Query: {claim}")[: room // 2]
    document = tokens.encode(f"Document: {title}. {text}")
    ids = torch.tensor([[*query, *document[: room - len(query) - len(tail)], *tail]])
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    true, false = tokens.encode("true"), tokens.encode("false")
    at = next(i for i, (one, other) in enumerate(zip(true, false, strict=False)) if one != other)
    start = torch.tensor([[model.config.decoder_start_token_id, *true[:at]]])
    with torch.inference_mode():
        logits = model(input_ids=ids, decoder_input_ids=start).logits[0, -1]
    return float(logits[true[at]] - logits[false[at]])


def test_scores_are_those_of_the_model(folder):
    checkpoint = load_checkpoint(folder)
    found = PointwiseReranker(checkpoint, batch_tokens=150).score(CLAIMS, DOCUMENTS, [(), ()])
    assert [len(own) for own in found] == [2, 2]
    for claim, own in zip(CLAIMS, found, strict=True):
        assert own == sorted(own, key=lambda sentence: -sentence.score)
        for sentence in own:
            expected = answer_log_odds(folder, checkpoint, claim, sentence.title, sentence.text)
            assert sentence.score == pytest.approx(expected, abs=1e-4)
    assert len({sentence.score for own in found for sentence in own}) == 4


def test_it_is_a_setting(folder, quick):
    config = quick.config.changed(reranker="pointwise")
    reranker = build_reranker(load_checkpoint(folder), config)
    assert isinstance(reranker, PointwiseReranker)
    assert claim_limits(reranker) == {"the pointwise reranker": 48}
