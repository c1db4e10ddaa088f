"""The natural-logic reader: one encoder pass from which the proof and the verdict come.

The encoder reads a claim with up to six titled sentences. The claim is cut into spans, and the
state of a span is the mean of the states of its tokens, which have seen the evidence. Each span has
a distribution over the six natural-logic operators, and one over the sentences and their words for
its quotation. The verdict automaton, as a layer, turns the operators into the probabilities of the
three verdicts: the printed proof is the most probable sequence of operators, and nothing else
decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from proofs.logic import OPERATORS
from proofs.reader.automaton import MATRICES, STATES
from trie.seq2seq import quiet_transformers

_QUOTE_WIDTH = 64
# Of most claims, most spans are equivalent or independent, and few decide.
_FIRST_BIASES = (1.0, 0.0, -0.5, -0.5, -0.5, 0.5)


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
        matrices = torch.tensor(MATRICES, dtype=torch.float32)
        log_matrices = matrices.log().clamp(min=self._IMPOSSIBLE)
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
        heads = self.heads(ids, mask, spans, markers, spans_teach=spans_teach)
        present = spans[..., 1] > spans[..., 0]
        return ReaderOutput(verdicts=self.automaton(heads["operators"], present), **heads)

    def heads(
        self, ids: Tensor, mask: Tensor, spans: Tensor, markers: Tensor, *, spans_teach: bool = True
    ) -> dict[str, Tensor]:
        """Return the outputs of all heads (see `forward`), by the names of `ReaderOutput`."""
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        positions = torch.arange(ids.shape[1], device=ids.device)
        inside = (positions >= spans[..., :1]) & (positions < spans[..., 1:])
        shares = inside / inside.sum(-1, keepdim=True).clamp(min=1)
        taught = states if spans_teach else states.detach()
        of_spans = shares.to(states.dtype) @ taught
        at_markers = states.gather(1, markers[..., None].expand(-1, -1, states.shape[-1]))
        queries = self.quote_queries(of_spans).float().chunk(3, -1)
        keys = self.quote_keys(taught).float().chunk(3, -1)
        of_sentences = keys[0].gather(1, markers[..., None].expand(-1, -1, _QUOTE_WIDTH))
        scale = _QUOTE_WIDTH**-0.5
        return {
            "operators": self.operators(of_spans).float().log_softmax(-1),
            "whole": self.whole(states[:, 0]).float(),
            "sentences": self.sentences(at_markers).float(),
            "quoted": queries[0] @ of_sentences.transpose(1, 2) * scale,
            "begins": queries[1] @ keys[1].transpose(1, 2) * scale,
            "ends": queries[2] @ keys[2].transpose(1, 2) * scale,
        }


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
