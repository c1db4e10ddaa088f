"""The input of pair classifiers: truncated pairs."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from proofs.verifier.pair_input import PairEncoder
from tests.proofs.verifier.tiny_classifier import write_classifier_directory


def test_the_longer_text_is_cut_and_segments_tell_the_texts_apart(tmp_path: Path) -> None:
    folder = write_classifier_directory(tmp_path / "model")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoder = PairEncoder(tokenizer, 16, 0)
    claim, evidence = "Rome is a city.", "Oslo was never on the Tiber. " * 9
    (whole,) = encoder.encode([claim], [""])
    (one,) = encoder.encode([claim], [evidence])
    assert len(one.ids) == 16
    assert one.ids[-len(whole.ids) + 2 :] == whole.ids[2:]  # the claim is complete
    assert sorted(one.segments) == one.segments
    assert set(one.segments) == {0, 1}
    (long_claim,) = encoder.encode([evidence], [evidence])
    assert len(long_claim.ids) == 16
    assert [len(i.ids) for i in encoder.encode(["\ud800"], ["\udfff x"])] == [6]
    ids, mask, segments = encoder.collate([whole, one])
    assert ids.shape == mask.shape == segments.shape == (2, 16)
    assert mask.sum(1).tolist() == [len(whole.ids), 16]
