"""The verifier at work: what evidence, and each sentence of it, does to a claim.

The evidence comes first and the claim second, as premise and hypothesis do in data sets of natural
language inference::

    [CLS] * Title : a sentence * Title : another one [SEP] claim [SEP]

A marker (here ``*``) stands before each sentence; what the model says of a sentence is read there.
It is ``[unused1]`` of BERT's vocabulary, which no pretraining used, or else the mask token.

A model reads at most six sentences with a claim, or fewer where they are long. Of longer evidence,
windows are read first, then together the sentences that say most about the claim.

An exported verifier runs without torch. Its directory, which `training.export_verifier` writes,
holds the model (``verifier.onnx``), its tokenizer (``tokenizer.json``), and ``verifier.json``: the
maximum length of inputs, the special tokens, and the calibration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from proofs.verifier import (
    LABELS,
    NEUTRAL,
    NOTHING_KNOWN,
    Calibration,
    Reading,
    Scale,
    Sentence,
    VerifierError,
    encodable,
    nothing_known,
    parse_calibration,
    sentence_text,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MARKER = "[unused1]"
MAX_CLAIM_TOKENS = 160
MAX_SENTENCE_TOKENS = 160
_SPECIAL_TOKENS = 3  # the first one and two separators


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """A claim with sentences of evidence as numbers."""

    ids: list[int]
    segments: list[int]  # 0 for evidence and 1 for the claim
    markers: list[int]  # position of the marker of each sentence that is read
    claim: int  # position of the first token of the claim
    offsets: list[tuple[int, int]]  # begin and end of each token of the claim in its text
    unread: list[int]  # numbers of the sentences that are not read, or not to their end
    claim_cut: bool  # whether the claim is not read to its end

    @property
    def cut(self) -> bool:
        """Whether anything is not read."""
        return self.claim_cut or bool(self.unread)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that inputs have beside those of texts."""

    start: int
    separator: int  # after the evidence and after the claim
    pad: int
    marker: int


class EvidenceEncoder:
    """Encodes claims with their evidence.

    `tokenizer`: the tokenizer of an encoder. It is copied. `max_length`: maximum number of tokens
    of an input.
    """

    def __init__(self, tokenizer: Tokenizer, special: SpecialTokens, max_length: int) -> None:
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special, self.max_length = special, max_length

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, max_length: int) -> EvidenceEncoder:
        """Return the encoder for a tokenizer of transformers.

        Raises `ValueError` if the tokenizer lacks a special token.
        """
        ids = {
            "cls_token": tokenizer.cls_token_id,
            "sep_token": tokenizer.sep_token_id,
            "pad_token": tokenizer.pad_token_id,
            "mask_token": tokenizer.mask_token_id,
        }
        missing = [name for name, number in ids.items() if number is None]
        if missing:
            raise ValueError(f"the tokenizer has no {missing[0]}; choose an encoder such as BERT")
        start, separator, pad, mask = ids.values()
        core = tokenizer.backend_tokenizer
        unused = core.token_to_id(_MARKER)
        special = SpecialTokens(start, separator, pad, mask if unused is None else unused)
        return cls(core, special, max_length)

    def encode(
        self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
    ) -> list[EvidenceInput]:
        """Return the input of each claim with its sentences, pairs of title and text.

        Sentences are read in their order until `max_length` is reached. An empty title is left out.
        """
        flat = [sentence_text(sentence) for sentences in evidences for sentence in sentences]
        encoded = iter(self.tokens(flat))
        inputs = []
        for claim, sentences in zip(self.tokens(claims), evidences, strict=True):
            texts = [next(encoded).ids for _ in sentences]
            inputs.append(self.joined(claim.ids, claim.offsets, texts))
        return inputs

    def tokens(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the tokens of texts, without special ones."""
        return self._tokenizer.encode_batch(list(map(encodable, texts)), add_special_tokens=False)

    def joined(
        self, claim: list[int], offsets: list[tuple[int, int]], texts: list[list[int]]
    ) -> EvidenceInput:
        """Return the input of the tokens of a claim, with their offsets, and of its sentences."""
        most = self.max_length - _SPECIAL_TOKENS
        kept, ids = claim[: min(MAX_CLAIM_TOKENS, most)], [self.special.start]
        markers: list[int] = []
        unread: list[int] = []
        room = most - len(kept)
        for number, text in enumerate(texts):
            part = text[: max(min(MAX_SENTENCE_TOKENS, room - 1), 0)]
            if room < 1 or (text and not part):
                unread += range(number, len(texts))
                break
            if len(part) < len(text):
                unread.append(number)
            markers.append(len(ids))
            ids += [self.special.marker, *part]
            room -= len(part) + 1
        ids.append(self.special.separator)
        begin = len(ids)
        ids += [*kept, self.special.separator]
        segments = [0] * begin + [1] * (len(ids) - begin)
        claim_cut = len(kept) < len(claim)
        return EvidenceInput(ids, segments, markers, begin, offsets[: len(kept)], unread, claim_cut)


MAX_SENTENCES = 6
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]


# Runs a model on one input: the logits of the whole, (3,), and of each token by the heads,
# (length, 3).
Backend = Callable[[EvidenceInput], Scores]


class EvidenceVerifier:
    """Reads claims with their evidence.

    `backend`: runs the model. Inputs run one by one, so that a reading does not depend on others.
    """

    def __init__(
        self,
        backend: Backend,
        encoder: EvidenceEncoder,
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
    ) -> None:
        self._backend, self._encoder, self.calibration = backend, encoder, calibration

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self.calibration.of(evidence)
        item = self._encode(claim, evidence[:MAX_SENTENCES])
        if len(item.markers) == len(evidence) and not item.unread:
            return self._run(item, len(evidence), scale)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        begin = 0
        while begin < len(evidence):
            window = evidence[begin : begin + MAX_SENTENCES]
            item = self._encode(claim, window)
            part = self._run(item, len(window), scale)
            # What a window cuts is read at the beginning of the next one, where there is most room.
            size = next((number for number in item.unread if number), len(window))
            sentences[begin : begin + size] = part.sentences[:size]
            unread += [begin] if 0 in item.unread else []
            begin += size
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")[:MAX_SENTENCES]
        best, item = self._fitting(claim, evidence, ranked, set(unread))
        whole = self._run(item, len(best), scale)
        sentences[best] = whole.sentences
        return replace(whole, sentences=sentences, unread=tuple(unread))

    def _fitting(
        self, claim: str, evidence: list[Sentence], ranked: np.ndarray, cut: set[int]
    ) -> tuple[np.ndarray, EvidenceInput]:
        for count in range(len(ranked), 0, -1):
            best = np.sort(ranked[:count])
            item = self._encode(claim, [evidence[number] for number in best])
            # A sentence that is too long alone is cut in any company.
            if {int(best[number]) for number in item.unread} <= cut:
                break
        return best, item

    def _encode(self, claim: str, evidence: list[Sentence]) -> EvidenceInput:
        (item,) = self._encoder.encode([claim], [evidence])
        return item

    def _run(self, item: EvidenceInput, count: int, scale: Scale) -> Reading:
        whole, sentences, tokens = self._backend(item)
        own = np.tile(NOTHING_KNOWN, (count, 1))
        own[: len(item.markers)] = scale.probabilities(sentences[item.markers], whole=False)
        at = slice(item.claim, item.claim + len(item.offsets))
        return Reading(
            scale.probabilities(whole),
            own,
            scale.probabilities(tokens[at], whole=False),
            tuple(item.offsets),
            tuple(item.unread),
            item.claim_cut,
        )


#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = ("ids", "mask", "segments"), ("whole", "sentences", "tokens")
_ONNX_REMEDY = "write it anew with training.export_verifier, or restore it"


class OnnxBackend:
    """Runs an exported model with onnxruntime, on the CPU.

    Raises `VerifierError` if the file holds no exported verifier.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Threads that wait for work would take the time of others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._path = path
        try:
            self._session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common base
            raise VerifierError(
                f"{path}: is not an ONNX model ({_line(error)}); {_ONNX_REMEDY}"
            ) from None
        found = (
            tuple(one.name for one in self._session.get_inputs()),
            tuple(one.name for one in self._session.get_outputs()),
        )
        if (set(found[0]), set(found[1])) != (set(INPUTS), set(OUTPUTS)):
            names = ", ".join(found[0] + found[1])
            raise VerifierError(f"{path}: inputs and outputs {names} are others; {_ONNX_REMEDY}")

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits (see `Backend`)."""
        ids = np.array([item.ids], dtype=np.int64)
        segments = np.array([item.segments], dtype=np.int64)
        inputs = dict(zip(INPUTS, (ids, np.ones_like(ids), segments), strict=True))
        try:
            whole, sentences, tokens = self._session.run(OUTPUTS, inputs)
        except Exception as error:
            raise VerifierError(
                f"{self._path}: cannot be run ({_line(error)}); {_ONNX_REMEDY}"
            ) from None
        if not all(np.isfinite(values).all() for values in (whole, sentences, tokens)):
            raise VerifierError(f"{self._path}: the outputs are not finite; {_ONNX_REMEDY}")
        return whole[0], sentences[0], tokens[0]


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


#: Names of the files.
ONNX_FILE, TOKENIZER_FILE, SETTINGS_FILE = "verifier.onnx", "tokenizer.json", "verifier.json"
_FIELDS = ("max_length", "special_tokens", "calibration")
_SHORTEST = 16
_REMEDY = "write the directory anew with training.export_verifier, or restore the file"


def open_export(directory: Path, threads: int = 1) -> EvidenceVerifier:
    """Open an exported verifier.

    `threads`: number of threads that onnxruntime uses for a reading.

    Raises `VerifierError` if a file is missing, damaged, or has other content; with the file, the
    field and the remedy.
    """
    for name in (ONNX_FILE, TOKENIZER_FILE, SETTINGS_FILE):
        if not (directory / name).is_file():
            raise VerifierError(f"{directory / name}: no such file; {_REMEDY}")
    try:
        tokenizer = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
    except Exception as error:  # tokenizers raises no more specific one
        raise VerifierError(
            f"{directory / TOKENIZER_FILE}: is not a tokenizer ({error}); {_REMEDY}"
        ) from None
    special, max_length, calibration = _read_settings(
        directory / SETTINGS_FILE, tokenizer.get_vocab_size()
    )
    encoder = EvidenceEncoder(tokenizer, special, max_length)
    return EvidenceVerifier(OnnxBackend(directory / ONNX_FILE, threads), encoder, calibration)


def settings_json(encoder: EvidenceEncoder, calibration: Calibration) -> str:
    """Return the text of ``verifier.json`` for an encoder and a calibration."""
    record = {
        "max_length": encoder.max_length,
        "special_tokens": asdict(encoder.special),
        "calibration": asdict(calibration),
    }
    return json.dumps(record, indent=2) + "\n"


def with_calibration(path: Path, calibration: Calibration) -> str:
    """Return the text of a ``verifier.json`` with another calibration."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps({**record, "calibration": asdict(calibration)}, indent=2) + "\n"


def _read_settings(path: Path, vocabulary: int) -> tuple[SpecialTokens, int, Calibration]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VerifierError(f"{path}: is not JSON ({error}); {_REMEDY}") from None
    if not isinstance(record, dict) or set(record) != set(_FIELDS):
        raise VerifierError(f"{path}: expected the fields {', '.join(_FIELDS)}; {_REMEDY}")
    length = record["max_length"]
    if not _is_int(length) or length < _SHORTEST:
        raise VerifierError(
            f"{path}: field 'max_length': expected a whole number from {_SHORTEST}; {_REMEDY}"
        )
    ids, names = record["special_tokens"], [field.name for field in fields(SpecialTokens)]
    if not isinstance(ids, dict) or set(ids) != set(names):
        raise VerifierError(
            f"{path}: field 'special_tokens': expected {', '.join(names)}; {_REMEDY}"
        )
    for name, number in ids.items():
        if not _is_int(number) or not 0 <= number < vocabulary:
            raise VerifierError(
                f"{path}: field 'special_tokens': {name} is not a token of the tokenizer; {_REMEDY}"
            )
    try:
        calibration = parse_calibration(
            record["calibration"], f"{path}: field 'calibration'", _REMEDY
        )
    except ValueError as error:
        raise VerifierError(str(error)) from None
    return SpecialTokens(**ids), length, calibration


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
