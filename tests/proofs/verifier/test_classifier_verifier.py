"""Classifiers of the hub as verifiers, beside transformers; bad input and bad files."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from proofs.verifier import VerifierError
from proofs.verifier.classifier_verifier import ClassifierVerifier, output_columns
from tests.proofs.verifier.tiny_classifier import TEXT, write_classifier_directory

CLAIMS = ["Rome is a city.", "Paris is not the capital of France.", "Oslo", "Bern"]
EVIDENCES = [
    [("Rome", "Rome is not a city in Italy."), ("Oslo", "It was never."), ("Rome", "30 towns.")],
    [("", "Paris is the capital of France.")],
    [],
    [("Bern", TEXT), ("Aare", "Bern lies on the Aare."), ("", "Rome " * 20), ("Oslo", "Oslo")],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_classifier_directory(tmp_path_factory.mktemp("hub") / "model")


@pytest.fixture(scope="module")
def verifier(folder):
    return ClassifierVerifier.open(folder)


def logits_of(folder, claim, text):
    """Return what transformers computes for a text with a claim."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(
        text,
        claim,
        truncation="only_first",
        max_length=64,
        return_token_type_ids=True,
        return_tensors="pt",
    )
    with torch.inference_mode():
        logits = model(**inputs).logits[0].double().numpy()
    return logits


def softmax(logits):
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


def test_sentences_and_the_whole_are_read(folder, verifier):
    """Probabilities are those of transformers, in the order of the verifier's labels."""
    reading = verifier.read(CLAIMS, EVIDENCES)[0]
    texts = ["Rome: Rome is not a city in Italy.", "Oslo: It was never.", "Rome: 30 towns."]
    for text, row in zip(texts, reading.sentences, strict=True):
        expected = softmax(logits_of(folder, CLAIMS[0], text))[::-1]
        np.testing.assert_allclose(row, expected, atol=1e-5)
    whole = "Rome: Rome is not a city in Italy. 30 towns. Oslo: It was never."
    expected = softmax(logits_of(folder, CLAIMS[0], whole))[::-1]
    np.testing.assert_allclose(reading.labels, expected, atol=1e-5)
    assert (reading.unread, reading.claim_cut) == ((), False)


def test_of_long_evidence_the_whole_is_of_the_best_sentences(folder, verifier):
    evidence = [("", "Rome " * 25), ("", "Paris " * 24), ("", "Oslo " * 23), ("", "Bern")]
    (reading,) = verifier.read(["Rome"], [evidence])
    order = np.argsort(reading.sentences[:, 1])
    # Two long ones and the short one fit, but not three long ones.
    long = [int(at) for at in order if at != 3][:2]
    chosen = sorted([*long, 3])
    text = " ".join(evidence[at][1] for at in chosen)
    expected = softmax(logits_of(folder, "Rome", text))[::-1]
    np.testing.assert_allclose(reading.labels, expected, atol=1e-5)
    assert reading.unread == ()


def test_what_is_cut_is_said(verifier):
    (reading,) = verifier.read(["Rome"], [[("", "Oslo"), ("", "Rome " * 90)]])
    assert (reading.unread, reading.claim_cut) == ((1,), False)
    (reading,) = verifier.read(["Rome " * 40], [[("", "Oslo")]])
    assert (reading.unread, reading.claim_cut) == ((), True)


def test_readings_do_not_depend_on_the_batch(verifier):
    together = verifier.read(CLAIMS, EVIDENCES)
    backward = verifier.read(CLAIMS[::-1], EVIDENCES[::-1])[::-1]
    alone = [verifier.read([c], [e])[0] for c, e in zip(CLAIMS, EVIDENCES, strict=True)]
    for others in (backward, alone):
        for one, other in zip(together, others, strict=True):
            np.testing.assert_allclose(one.labels, other.labels, atol=1e-5)
            np.testing.assert_allclose(one.sentences, other.sentences, atol=1e-5)


def rename(*labels):
    def change(folder):
        path = folder / "config.json"
        config = json.loads(path.read_text()) | {"id2label": dict(enumerate(labels))}
        path.write_text(json.dumps(config))

    return change


def break_weights(folder):
    state = load_file(folder / "model.safetensors")
    state["classifier.bias"][1] = float("nan")
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def pickle_weights(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: (f / "config.json").unlink(), r"config\.json: no such file; give a directory"),
        (pickle_weights, r"model\.safetensors: no such file; give a directory"),
        (lambda f: (f / "config.json").write_text("{"), r"config\.json: is not a model config"),
        (lambda f: (f / "config.json").write_text("[]"), r"config\.json: is not a model config"),
        (rename("a", "b", "c"), r"config\.json: field 'id2label': the labels 'a', .*rename them"),
        (break_weights, r"classifier\.bias are not finite\); restore it"),
        (lambda f: (f / "model.safetensors").write_bytes(b"x"), "model: not a usable classifier"),
        (lambda f: (f / "tokenizer.json").write_text("{"), "model: not a usable classifier"),
        (rename("support", "other"), "model: not a usable classifier"),
    ],
)
def test_bad_files_are_named(tmp_path, change, says):
    folder = write_classifier_directory(tmp_path / "model")
    change(folder)
    with pytest.raises(VerifierError, match=says):
        ClassifierVerifier.open(folder)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("entailment", "neutral", "contradiction"), (0, 1, 2)),
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), (2, 1, 0)),
        (("SUPPORTED", "REFUTED", "NOT ENOUGH INFO"), (0, 2, 1)),
        (("refutes", "supports", "not_enough_info"), (1, 2, 0)),
        (("NEI", "Supports", "Refutes"), (1, 0, 2)),
        (("LABEL_0",), (0,)),
        ((), (1, 0)),
        (("LABEL_0", "LABEL_1"), (1, 0)),
        (("not_entailment", "entailment"), (1, 0)),
        (("SUPPORTED", "UNSUPPORTED"), (0, 1)),
        (("contradiction", "entailment"), (1, 0)),
        (("yes", "no"), None),
        (("LABEL_0", "LABEL_1", "LABEL_2"), None),
        (("entailment", "supports", "neutral"), None),
        (("entailment", "neutral", "contradiction", "other"), None),
    ],
)
def test_names_are_mapped_to_columns_or_refused(names, columns):
    if columns is not None:
        assert output_columns(dict(enumerate(names)), "config.json") == columns
        return
    with pytest.raises(ValueError, match=r"^x/config\.json: field 'id2label'") as caught:
        output_columns(dict(enumerate(names)), "x/config.json")
    assert all(repr(name) in str(caught.value) for name in names)


@pytest.mark.parametrize("labels", [("LABEL_0",), ("LABEL_0", "LABEL_1"), ("support", "other")])
def test_one_or_two_outputs_tell_support(tmp_path, labels):
    folder = write_classifier_directory(tmp_path / "model", labels)
    (reading,) = ClassifierVerifier.open(folder).read(CLAIMS[1:2], EVIDENCES[1:2])
    logits = logits_of(folder, CLAIMS[1], EVIDENCES[1][0][1])
    if len(labels) == 1:
        support = 1 / (1 + np.exp(-logits[0]))
    else:
        support = softmax(logits)[0 if "support" in labels else 1]
    np.testing.assert_allclose(reading.labels, [support, 1 - support, 0], atol=1e-5)
