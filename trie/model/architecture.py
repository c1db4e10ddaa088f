"""The interface between `trie.model.seq2seq.Seq2Seq` and the architectures of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from torch import Tensor
from transformers import PreTrainedModel

from trie.model.packed_encoder import LinearGroup
from trie.model.shared_attention import AttentionLayer, EncodedInputs


class Architecture(Protocol):
    """A seq2seq model of some architecture, in evaluation mode.

    Parameters
    ----------
    model
        The model.
    linears
        The implementation of the encoder's linear layers.

    Attributes
    ----------
    max_source, max_target
        Maximum number of tokens of an input and of an output.
    cross_attentions
        The cross-attention of each decoder layer.
    """

    max_source: int
    max_target: int
    cross_attentions: Sequence[AttentionLayer]

    def __init__(self, model: PreTrainedModel, linears: type[LinearGroup]) -> None: ...

    def encoder_states(self, inputs: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        """Yield the index and the states, float32, (tokens, hidden size), of each input.

        Called on the CPU only. The states of an input do not depend on the other inputs.
        """
        ...

    def decode(
        self,
        encoded: EncodedInputs,
        tokens: Tensor,
        positions: Tensor,
        key_positions: Tensor,
        attend_to_tokens: Callable[..., Tensor],
    ) -> Tensor:
        """Run the decoder's layers.

        Parameters
        ----------
        encoded
            The encoded inputs.
        tokens
            The tokens to read; (inputs, beams, positions).
        positions
            The position of each of these tokens in its sequence; (positions,).
        key_positions
            The positions of the tokens that they attend to.
        attend_to_tokens
            `trie.model.shared_attention.self_attention` or `masked_self_attention`, without the
            arguments for an attention layer, its input, its number and a bias.

        Returns
        -------
        Tensor
            The decoder's states; (inputs, beams, positions, hidden size).
        """
        ...

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the token after each decoder state; float32, (..., vocabulary)."""
        ...
