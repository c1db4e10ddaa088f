"""The natural-logic reader: one encoder pass from which the proof and the verdict come.

The encoder reads a claim with up to six titled sentences. The claim is cut into spans, and the
state of a span is the mean of the states of its tokens, which have seen the evidence. Each span has
a distribution over the six natural-logic operators, and one over the sentences and their words for
its quotation. The verdict automaton, as a layer, turns the operators into the probabilities of the
three verdicts: the printed proof is the most probable sequence of operators, and nothing else
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from proofs.drafting.spans import chunk
from proofs.logic import OPERATORS, NatOp, Verdict, transition
from proofs.verifier import Sentence, encodable, sentence_text
from proofs.verifier.canonical import CanonicalText, canonical
from proofs.verifier.evidence_verifier import EvidenceEncoder, SpecialTokens
from trie.seq2seq import quiet_transformers

#: The states of the automaton in the order of `proofs.verifier.LABELS`.
STATES = (Verdict.SUPPORTS, Verdict.NOT_ENOUGH_INFO, Verdict.REFUTES)
MAX_SPANS = 14
MAX_LENGTH = 384
_QUOTE_WIDTH = 64
# Of most claims, most spans are equivalent or independent, and few decide.
_FIRST_BIASES = (1.0, 0.0, -0.5, -0.5, -0.5, 0.5)


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """A claim with sentences of evidence as numbers."""

    ids: list[int]
    markers: list[int]  # position of the marker of each sentence that is read
    spans: list[tuple[int, int]]  # positions ``[begin, end)`` of the tokens of each claim span
    places: list[tuple[int, int]]  # characters ``[begin, end)`` of each span in the claim
    # characters ``[begin, end)`` of each token of each sentence that is read, in the text of title
    # and sentence as they were given
    offsets: list[list[tuple[int, int]]]
    cut: bool  # whether anything is not read


class ReaderEncoder:
    """Encodes claims with their evidence for a reader, values in one form.

    `tokenizer`: the tokenizer of an encoder. It is copied. `max_length`: maximum number of tokens.
    `canonical_values`: whether values are read in their canonical form.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: SpecialTokens,
        max_length: int,
        *,
        canonical_values: bool = True,
    ) -> None:
        self._inputs = EvidenceEncoder(tokenizer, special, max_length)
        self.tokenizer, self.special, self.max_length = tokenizer, special, max_length
        self._form = canonical if canonical_values else CanonicalText

    @classmethod
    def of(cls, tokenizer: Any, max_length: int, *, canonical_values: bool = True) -> ReaderEncoder:
        """Return the encoder for a tokenizer of transformers.

        Raises `ValueError` if the tokenizer lacks a special token.
        """
        inputs = EvidenceEncoder.of(tokenizer, max_length)
        return cls(
            tokenizer.backend_tokenizer,
            inputs.special,
            max_length,
            canonical_values=canonical_values,
        )

    def encode(
        self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
    ) -> list[ReaderInput]:
        """Return the input of each claim with its sentences, pairs of title and text."""
        own = [self._form(encodable(claim)) for claim in claims]
        texts = [
            [self._form(encodable(sentence_text(one))) for one in evidence]
            for evidence in evidences
        ]
        encoded = iter(self._inputs.tokens([one.text for each in texts for one in each]))
        read = []
        for claim, tokens, sentences in zip(
            own, self._inputs.tokens([claim.text for claim in own]), texts, strict=True
        ):
            given = [next(encoded) for _ in sentences]
            one = self._inputs.joined(tokens.ids, tokens.offsets, [each.ids for each in given])
            spans, places = _token_spans(claim, one.offsets, one.claim)
            ends = [*one.markers[1:], one.claim - 1]
            offsets = [
                [sentence.original(*place) for place in each.offsets[: end - begin - 1]]
                for sentence, each, begin, end in zip(
                    sentences, given, one.markers, ends, strict=False
                )
            ]
            read.append(ReaderInput(one.ids, one.markers, spans, places, offsets, one.cut))
        return read


def _token_spans(
    claim: CanonicalText, offsets: Sequence[tuple[int, int]], first: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the positions of the tokens, and the characters, of the spans of a claim."""
    cut = chunk(claim.text, max_chunks=MAX_SPANS) or [(0, len(claim.text))]
    places: list[tuple[int, int]] = []  # in the claim as it was given
    ends: list[int] = []  # in its canonical form
    for begin, end in cut:
        place = claim.original(begin, end)
        if places and place[0] < places[-1][1]:  # the spans share a value
            places[-1] = (places[-1][0], max(place[1], places[-1][1]))
            ends[-1] = end
        else:
            places.append(place)
            ends.append(end)
    spans: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    at = 0
    for number, (place, end) in enumerate(zip(places, ends, strict=True)):
        start = at
        is_last = number == len(places) - 1
        while at < len(offsets) and (is_last or offsets[at][0] < end):
            at += 1
        if at > start:
            spans.append((first + start, first + at))
            kept.append(place)
        elif kept:
            kept[-1] = (kept[-1][0], place[1])
    return spans or [(first - 1, first)], kept or [(0, places[-1][1])]


def _matrices() -> Tensor:
    """Return the transition matrix of each operator, (6, 3, 3): from a state to a state."""
    matrices = torch.zeros(len(OPERATORS), len(STATES), len(STATES))
    for number, operator in enumerate(OPERATORS):
        for row, state in enumerate(STATES):
            matrices[number, row, STATES.index(transition(state, operator))] = 1
    return matrices


class AutomatonLayer(nn.Module):
    """The verdict automaton over distributions of operators (`proofs.logic.transition`).

    From SUPPORTS on, the distribution over the three states is multiplied, span by span, by the
    mean of the transition matrices of the operators. Sums are of logarithms.
    """

    log_matrices: Tensor
    _IMPOSSIBLE = -1e4

    def __init__(self) -> None:
        super().__init__()
        # A constant that no checkpoint needs to hold.
        log_matrices = _matrices().log().clamp(min=self._IMPOSSIBLE)
        self.register_buffer("log_matrices", log_matrices, persistent=False)

    def forward(self, operators: Tensor, present: Tensor) -> Tensor:
        """Return the log-probabilities of the verdicts, (claims, 3), in the order of `STATES`.

        `operators`: log-probabilities of the operators of each span, (claims, spans, 6).
        `present`: whether a claim has the span, (claims, spans).
        """
        # (claims, spans, from, to)
        steps = (operators[:, :, :, None, None] + self.log_matrices).logsumexp(2)
        states = torch.full_like(operators[:, 0, : len(STATES)], self._IMPOSSIBLE)
        states[:, 0] = 0.0
        for number in range(operators.shape[1]):
            moved = (states[:, :, None] + steps[:, number]).logsumexp(1)
            states = torch.where(present[:, number, None], moved, states)
        return states.log_softmax(-1)


def best_path(operators: Sequence[Sequence[float]], state: Verdict) -> list[NatOp]:
    """Return the most probable operators of the spans of a claim that end in a state.

    `operators`: log-probabilities of `OPERATORS` for each span, (spans, 6), at least one.
    """
    # The best path to each state: its log-probability and its operators (Viterbi's algorithm).
    best: dict[Verdict, tuple[float, list[NatOp]]] = {Verdict.SUPPORTS: (0.0, [])}
    for span in operators:
        reached: dict[Verdict, tuple[float, list[NatOp]]] = {}
        for before, (total, path) in best.items():
            for operator, value in zip(OPERATORS, span, strict=True):
                after = transition(before, operator)
                if after not in reached or total + value > reached[after][0]:
                    reached[after] = total + value, [*path, operator]
        best = reached
    return best[state][1]


@dataclass(frozen=True, slots=True)
class ReaderOutput:
    """The outputs of the reader for a batch of claims."""

    operators: Tensor  # log-probabilities of the operators of each span, (claims, spans, 6)
    verdicts: Tensor  # log-probabilities of the verdicts by the automaton, (claims, 3)
    whole: Tensor  # logits of the verdicts by the whole head, (claims, 3)
    sentences: Tensor  # logits of what each sentence does to the claim, (claims, sentences, 3)
    quoted: (
        Tensor  # scores of the sentences for the quotation of a span, (claims, spans, sentences)
    )
    # scores of all tokens as the first and the last one of the quotation, (claims, spans, length)
    begins: Tensor
    ends: Tensor


class NaturalLogicReader(nn.Module):
    """An encoder with the heads of a natural-logic proof.

    `whole` is the head that classifies the claim from its first token. It teaches the automaton in
    training.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.whole = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.Linear(width, len(STATES))
        )
        self.operators = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.Linear(width, len(OPERATORS))
        )
        last = self.operators[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.bias.copy_(torch.tensor(_FIRST_BIASES))
        self.sentences = nn.Linear(width, len(STATES))
        self.quote_queries = nn.Linear(width, 3 * _QUOTE_WIDTH)
        self.quote_keys = nn.Linear(width, 3 * _QUOTE_WIDTH)
        self.automaton = AutomatonLayer()

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        spans: Tensor,
        markers: Tensor,
        *,
        spans_teach: bool = True,
    ) -> ReaderOutput:
        """Read claims with their evidence.

        `ids`, `mask`: tokens and whether they are there, (claims, length). `spans`: first token
        and token after the last one of each span, (claims, spans, 2), both 0 for none. `markers`:
        positions of the markers of sentences, (claims, sentences), 0 for none. `spans_teach`:
        whether the gradient of what is said of spans reaches the encoder.
        """
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        positions = torch.arange(ids.shape[1], device=ids.device)
        inside = (positions >= spans[..., :1]) & (positions < spans[..., 1:])
        present = spans[..., 1] > spans[..., 0]
        shares = inside / inside.sum(-1, keepdim=True).clamp(min=1)
        taught = states if spans_teach else states.detach()
        of_spans = shares.to(states.dtype) @ taught
        at_markers = states.gather(1, markers[..., None].expand(-1, -1, states.shape[-1]))
        operators = self.operators(of_spans).float().log_softmax(-1)
        queries = self.quote_queries(of_spans).float().chunk(3, -1)
        keys = self.quote_keys(taught).float().chunk(3, -1)
        of_sentences = keys[0].gather(1, markers[..., None].expand(-1, -1, _QUOTE_WIDTH))
        scale = _QUOTE_WIDTH**-0.5
        return ReaderOutput(
            operators,
            self.automaton(operators, present),
            self.whole(states[:, 0]).float(),
            self.sentences(at_markers).float(),
            queries[0] @ of_sentences.transpose(1, 2) * scale,
            queries[1] @ keys[1].transpose(1, 2) * scale,
            queries[2] @ keys[2].transpose(1, 2) * scale,
        )


def new_reader(encoder: Path, seed: int) -> tuple[NaturalLogicReader, Any]:
    """Return an untrained reader on a pretrained encoder, and the encoder's tokenizer.

    `encoder`: directory of the encoder in the Hugging Face format, with safetensors.
    """
    torch.manual_seed(seed)
    with quiet_transformers():
        model = AutoModel.from_pretrained(
            encoder,
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            add_pooling_layer=False,
        )
        tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
    return NaturalLogicReader(model), tokenizer
