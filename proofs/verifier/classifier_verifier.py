"""Sequence classifiers as verifiers: any of Hugging Face, and our own, which has three heads.

A classifier reads one text against the claim: each sentence alone, and then the evidence as a
whole. Of evidence that is longer than an input, the whole is what the sentences say that alone say
most about the claim. One, two or three outputs are read: the log-odds of support; support and the
rest; or entailment, neutral and contradiction.

Our own model reads a claim with its evidence in one pass. The first head, that of an ordinary
classifier, says what the evidence as a whole does to the claim; the second what each sentence does,
from the state of its marker; the third what becomes of each token of the claim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Encoding, Tokenizer
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from proofs.verifier import (
    LABELS,
    NEUTRAL,
    Calibration,
    Reading,
    Sentence,
    VerifierError,
    encodable,
    evidence_text,
    nothing_known,
    read_calibration,
    sentence_text,
)
from proofs.verifier.evidence_verifier import (
    EvidenceEncoder,
    EvidenceInput,
    EvidenceVerifier,
    Scores,
)
from trie.seq2seq import pad_batch, quiet_transformers

_NAMES = {
    "entailment": "entailment entail entails entailed support supports supported true e",
    "neutral": "neutral notenoughinfo notenoughinformation notenough nei unknown unverifiable "
    "insufficient noinfo n",
    "contradiction": "contradiction contradict contradicts contradictory contradicted refute "
    "refutes refuted false c",
}
_MEANINGS = {name: label for label, names in _NAMES.items() for name in names.split()}
# Names that transformers gives to outputs without names: the second of two is the positive one.
_UNNAMED = ["label_0", "label_1"]


def output_columns(names: Mapping[int, str], where: str) -> tuple[int, ...]:
    """Return the columns of the output of a classifier that are read.

    A single output is the log-odds of support. Of two, one must be named as entailment is; its
    column comes first, and if both have no names, the second is support. Of more, the columns are
    those of `LABELS`.

    `names`: the name of each column, as `id2label` of a configuration; without names, there are two
    outputs.

    Raises `ValueError` if the names do not say what the outputs are.
    """
    given = [name for _, name in sorted(names.items())] or _UNNAMED
    meanings = [_MEANINGS.get(re.sub(r"[^a-z]", "", name.casefold()), "") for name in given]
    if len(given) == 1:
        return (0,)
    if [name.casefold() for name in given] == _UNNAMED:
        return (1, 0)
    if len(given) == 2 and meanings.count("entailment") == 1:
        support = meanings.index("entailment")
        return (support, 1 - support)
    if sorted(meanings) == sorted(LABELS):
        return tuple(map(meanings.index, LABELS))
    raise ValueError(
        f"{where}: field 'id2label': the labels {', '.join(map(repr, given))} are not one each for "
        f"{', '.join(LABELS)}, nor two of which one is entailment; rename them so, or choose "
        "another classifier"
    )


def pad_inputs(
    ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]], pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids, attention mask and segments of inputs, (inputs, longest input)."""
    padded, mask = pad_batch(ids, pad)
    padded_segments, _ = pad_batch(segments, 0)
    return padded, mask, padded_segments


def classifier_inputs(
    ids: Tensor, mask: Tensor, segments: Tensor, has_segments: bool, device: torch.device
) -> dict[str, Tensor]:
    """Return the keyword arguments of a Hugging Face classifier, on its device."""
    inputs = {"input_ids": ids, "attention_mask": mask}
    if has_segments:
        inputs["token_type_ids"] = segments
    return {name: tensor.to(device) for name, tensor in inputs.items()}


def padded_positions(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return lists of positions as a tensor, (rows, longest row), and which are padding."""
    width = max(map(len, rows), default=0)
    positions = torch.zeros(len(rows), width, dtype=torch.long)
    missing = torch.ones(len(rows), width, dtype=torch.bool)
    for number, row in enumerate(rows):
        positions[number, : len(row)] = torch.tensor(row, dtype=torch.long)
        missing[number, : len(row)] = False
    return positions, missing


def check_finite(model: nn.Module) -> None:
    """Raise `ValueError` if a weight is not a finite number: such a model says anything."""
    for name, value in model.state_dict().items():
        if not torch.isfinite(value).all():
            raise ValueError(f"the weights {name} are not finite")


@contextmanager
def explained(directory: Path) -> Iterator[None]:
    """Turn the errors of loading libraries into a `ValueError` that names the directory."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, SafetensorError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"{directory}: not a usable classifier ({reason}); restore it or choose another"
        ) from error


# Longer inputs are of little use for sentences, and take much time.
_MAX_LENGTH = 512
_REMEDY = "give a directory with a Hugging Face sequence classifier in safetensors"


class ClassifierVerifier:
    """Reads claims with their evidence by a classifier of pairs of texts.

    It computes in 32 bits. A classifier that tells support from everything else never says that
    evidence contradicts. `columns`: that of each of `LABELS` in its output; of one or two outputs,
    that of support, and that of the rest if there is one.

    Raises `ValueError` if the classifier cannot be used.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        columns: tuple[int, ...],
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
        *,
        device: str = "cpu",
    ) -> None:
        check_finite(model)
        core = getattr(tokenizer, "backend_tokenizer", None)
        if core is None:
            raise ValueError("there is no tokenizer.json")
        if tokenizer.pad_token_id is None:
            raise ValueError("its tokenizer has no padding token")
        self.calibration, self._columns = calibration, columns
        self._model, self._device = model.eval(), torch.device(device)
        self._model.to(self._device)
        self._pad: int = tokenizer.pad_token_id
        self._has_segments = getattr(model.config, "type_vocab_size", 0) > 1
        positions: int = getattr(model.config, "max_position_embeddings", _MAX_LENGTH)
        if "roberta" in model.config.model_type or model.config.model_type == "camembert":
            positions -= self._pad + 1  # their positions begin after it
        self._max_length = min(_MAX_LENGTH, tokenizer.model_max_length, positions)
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(core.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._max_length, strategy="only_first")

    @classmethod
    def open(cls, directory: Path, *, device: str = "cpu") -> ClassifierVerifier:
        """Open the classifier in a directory.

        Raises `ValueError` if files are missing or damaged, weights are not finite, or the labels
        cannot be mapped; with the file, the field and the remedy.
        """
        config, weights = directory / "config.json", directory / "model.safetensors"
        for file in (config, weights):
            if not file.is_file():
                raise VerifierError(f"{file}: no such file; {_REMEDY}")
        try:
            columns, calibration = _columns(config), read_calibration(directory)
            with explained(directory), quiet_transformers():
                files = {"local_files_only": True, "trust_remote_code": False}
                model, report = AutoModelForSequenceClassification.from_pretrained(
                    directory,
                    use_safetensors=True,
                    dtype=torch.float32,
                    output_loading_info=True,
                    **files,
                )
                if missing := sorted(report["missing_keys"]):
                    raise ValueError(f"it lacks {missing[0]}")
                tokenizer = AutoTokenizer.from_pretrained(directory, **files)
                return cls(model, tokenizer, columns, calibration, device=device)
        except ValueError as error:
            raise VerifierError(str(error)) from error

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim does to it (see `Verifier`)."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self.calibration.of(evidence)
        claim, claim_cut = self._cut(encodable(claim))
        alone = [self._pair(claim, sentence_text(sentence)) for sentence in evidence]
        sentences = scale.probabilities(self._logits(alone), whole=False)
        whole = self._whole(claim, evidence, alone, sentences)
        return Reading(
            scale.probabilities(self._logits([whole]))[0],
            sentences,
            unread=tuple(number for number, pair in enumerate(alone) if pair.overflowing),
            claim_cut=claim_cut,
        )

    def _whole(
        self, claim: str, evidence: list[Sentence], alone: list[Encoding], sentences: np.ndarray
    ) -> Encoding:
        if len(evidence) == 1:
            return alone[0]
        whole = self._pair(claim, evidence_text(evidence))
        if not whole.overflowing:
            return whole
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")
        best = [int(ranked[0])]
        whole = alone[best[0]]
        for number in map(int, ranked[1:]):
            # Joined in the order of the evidence.
            joined = evidence_text(evidence[at] for at in sorted([*best, number]))
            tried = self._pair(claim, joined)
            if not tried.overflowing:
                best.append(number)
                whole = tried
        return whole

    def _cut(self, claim: str) -> tuple[str, bool]:
        offsets = self._tokenizer.encode(claim, add_special_tokens=False).offsets
        most = self._max_length // 2
        return (claim[: offsets[most - 1][1]], True) if len(offsets) > most else (claim, False)

    def _pair(self, claim: str, text: str) -> Encoding:
        # The evidence is first, as premises are in data sets of natural language inference.
        return self._tokenizer.encode(encodable(text), claim)

    @torch.inference_mode()
    def _logits(self, pairs: list[Encoding]) -> np.ndarray:
        """Return the logits of `LABELS`, (pairs, 3); what has no output is impossible."""
        outputs = []
        for begin in range(0, len(pairs), _BATCH):
            batch = pairs[begin : begin + _BATCH]
            inputs = pad_inputs([p.ids for p in batch], [p.type_ids for p in batch], self._pad)
            output = self._model(**classifier_inputs(*inputs, self._has_segments, self._device))
            outputs.append(output.logits.double().cpu().numpy())
        given = np.concatenate(outputs)
        if not np.isfinite(given).all():
            raise VerifierError("the outputs of the classifier are not finite; choose another one")
        columns = self._columns
        if len(columns) == 1:  # the log-odds of support
            given, columns = np.concatenate([given, np.zeros_like(given)], axis=1), (0, 1)
        logits = np.full((len(given), len(LABELS)), -np.inf)
        logits[:, : len(columns)] = given[:, list(columns)]
        return logits


def _columns(config: Path) -> tuple[int, ...]:
    try:
        names = json.loads(config.read_text(encoding="utf-8")).get("id2label") or {}
        labels = {int(key): str(name) for key, name in names.items()}
    except (OSError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"{config}: is not a model configuration ({error}); restore it") from error
    return output_columns(labels, str(config))


_BATCH = 8  # inputs of a pass
HEADS = "evidence_heads.safetensors"
MAX_LENGTH = 384


class EvidenceModel(nn.Module):
    """A sequence classifier with a head for sentences and one for the tokens of the claim.

    `classifier`: a classifier with one output for each of `LABELS`, in their order.
    """

    def __init__(self, classifier: PreTrainedModel) -> None:
        super().__init__()
        self.classifier = classifier
        width = classifier.config.hidden_size
        self.sentence_head = nn.Linear(width, len(LABELS))
        self.token_head = nn.Linear(width, len(LABELS))

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the whole, (inputs, 3), and of each token by both other heads.

        `ids`, `mask`, `segments`: as `pad_inputs` returns them, (inputs, length).

        The logits are (inputs, 3), (inputs, length, 3) and (inputs, length, 3), in the order of
        `LABELS`. Of the second, only markers mean something; of the third, only tokens of the
        claim.
        """
        has_segments = getattr(self.classifier.config, "type_vocab_size", 0) > 1
        output = self.classifier(
            **classifier_inputs(ids, mask, segments, has_segments, ids.device),
            output_hidden_states=True,
        )
        states = output.hidden_states[-1]
        return output.logits, self.sentence_head(states), self.token_head(states)

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the encoder, without those of the heads."""
        base = getattr(self.classifier, self.classifier.base_model_prefix)
        return [p for name, p in base.named_parameters() if not name.startswith("pooler.")]


def new_model(encoder: Path, seed: int) -> tuple[EvidenceModel, Any]:
    """Return an untrained model on a pretrained encoder, and the encoder's tokenizer.

    `encoder`: directory of the encoder in the Hugging Face format, with safetensors.

    Raises `ValueError` if it cannot be read.
    """
    torch.manual_seed(seed)
    names = dict(enumerate(LABELS))
    with explained(encoder), quiet_transformers():
        classifier = AutoModelForSequenceClassification.from_pretrained(
            encoder,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            num_labels=len(LABELS),
            id2label=names,
            label2id={name: column for column, name in names.items()},
        )
        tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
    return EvidenceModel(classifier), tokenizer


def read_model(directory: Path) -> tuple[EvidenceModel, Any]:
    """Return a trained model and its tokenizer.

    Raises `ValueError` if files are missing or damaged, if the labels are others, or weights are
    not finite.
    """
    heads = directory / HEADS
    if not heads.is_file():
        raise ValueError(f"{heads}: no such file; this is not a verifier of AdMIRaL")
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    labels = {int(key): str(name) for key, name in config.get("id2label", {}).items()}
    if output_columns(labels, str(directory / "config.json")) != tuple(range(len(LABELS))):
        raise ValueError(f"{directory / 'config.json'}: the labels are in another order")
    model, tokenizer = new_model(directory, 0)
    with explained(directory):
        stored = {name: value.float() for name, value in load_file(heads).items()}
        model.load_state_dict(model.state_dict() | stored)
        check_finite(model)
    return model.eval(), tokenizer


def write_model(
    out: Path, model: EvidenceModel, tokenizer: Any, dtype: torch.dtype, max_length: int
) -> None:
    """Write a model and its tokenizer to an existing directory; the loaded one is not changed.

    `max_length`: maximum number of tokens of an input.
    """

    def stored(module: nn.Module, prefix: str = "") -> dict[str, Tensor]:
        state = module.state_dict().items()
        return {f"{prefix}{k}": v.detach().to("cpu", dtype).contiguous() for k, v in state}

    heads = stored(model.sentence_head, "sentence_head.") | stored(model.token_head, "token_head.")
    save_file(stored(model.classifier), out / "model.safetensors", metadata={"format": "pt"})
    save_file(heads, out / HEADS, metadata={"format": "pt"})
    record = model.classifier.config.to_dict() | {
        "architectures": [type(model.classifier).__name__],
        "dtype": str(dtype).removeprefix("torch."),
    }
    record.pop("_name_or_path", None)  # where it was started from, on this machine
    (out / "config.json").write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    with quiet_transformers():
        tokenizer.save_pretrained(out)
    settings = out / "tokenizer_config.json"
    content = json.loads(settings.read_text(encoding="utf-8")) | {"model_max_length": max_length}
    settings.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")


class TorchBackend:
    """Runs a model with torch, on the device of the model."""

    def __init__(self, model: EvidenceModel) -> None:
        self._model = model
        self._device = next(model.parameters()).device

    @torch.inference_mode()
    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = torch.tensor([item.ids], device=self._device)
        segments = torch.tensor([item.segments], device=self._device)
        outputs = self._model(ids, torch.ones_like(ids), segments)
        whole, sentences, tokens = (o[0].float().cpu().numpy() for o in outputs)
        return whole, sentences, tokens


def open_checkpoint(directory: Path, device: str = "cpu") -> EvidenceVerifier:
    """Open a trained verifier.

    Raises `ValueError` if a file is missing, damaged, or has other content; with the file and the
    remedy.
    """
    model, tokenizer = read_model(directory)
    backend = TorchBackend(model.to(device))
    positions = model.classifier.config.max_position_embeddings
    encoder = EvidenceEncoder.of(tokenizer, min(tokenizer.model_max_length, positions))
    return EvidenceVerifier(backend, encoder, read_calibration(directory))
