"""Log probabilities of given sequences (forced decoding), without a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from trie.constraints.constraint import Constraint
from trie.decoding.next_tokens import ConstraintBatch
from trie.index.bit_vector import Ints
from trie.model.seq2seq import Seq2Seq
from trie.model.shared_attention import MIN_ROWS, EncodedInputs

# Positions of one call of the decoder, padding included. Each has a row of logits, so that more of
# them would only take memory.
_MAX_POSITIONS = 256


def score_sequences(
    model: Seq2Seq,
    inputs: Sequence[Sequence[int]],
    sequences: Sequence[Sequence[Sequence[int]]],
    constraints: Sequence[Constraint] | None = None,
) -> list[list[float]]:
    """Return the log probability of each given sequence.

    Every input is encoded once, and its sequences are rows of one batch. On a CPU, scores do not
    depend on the other inputs.

    Parameters
    ----------
    model
        The model.
    inputs
        Token ids of each encoder input.
    sequences
        For each input, the sequences to score: token ids without the start token.
    constraints
        The constraint of each input, to normalise over the allowed tokens only. By default, scores
        are the log-softmax over the full vocabulary.

    Returns
    -------
    list
        For each input, the summed natural log probabilities of the tokens of each sequence. With
        constraints, a sequence that is not allowed, or continues after the end token, has minus
        infinity.

    Raises
    ------
    ValueError
        If the lists differ in length, a sequence is empty or longer than the model decodes, or an
        input does not fit into the model.
    """
    if len(inputs) != len(sequences):
        raise ValueError(f"{len(inputs)} inputs, but {len(sequences)} lists of sequences")
    if constraints is not None and len(constraints) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs, but {len(constraints)} constraints")
    for own in sequences:
        for sequence in own:
            if not 1 <= len(sequence) <= model.max_target:
                raise ValueError(
                    f"a sequence has {len(sequence)} tokens; the model decodes 1 to "
                    f"{model.max_target}"
                )
    scored = [index for index, own in enumerate(sequences) if own]
    results: list[list[float]] = [[] for _ in inputs]
    if not scored:
        return results
    with model.inference_context():
        encoded = model.encode([inputs[index] for index in scored])
        for number, index in enumerate(scored):
            constraint = None if constraints is None else constraints[index]
            one_input = encoded.select([number])
            results[index] = _score(model, one_input, sequences[index], constraint)
    return results


def _score(
    model: Seq2Seq,
    encoded: EncodedInputs,
    sequences: Sequence[Sequence[int]],
    constraint: Constraint | None,
) -> list[float]:
    """Return the scores of the sequences of one encoded input."""
    scores = [0.0] * len(sequences)
    for rows in _chunks([len(sequence) for sequence in sequences]):
        chunk = [sequences[row] for row in rows]
        # Short chunks are filled up with copies, as in a beam search.
        padded = _padded([*chunk, *[chunk[-1]] * (MIN_ROWS - len(chunk))], model.pad)
        starts = torch.full((len(padded), 1), model.start)
        known = torch.cat([starts, padded[:, :-1]], dim=1)
        logits = model.step(encoded, model.new_cache(), known[None])[0, : len(chunk)]
        targets = padded[: len(chunk), :, None].to(logits.device)
        values = logits.gather(-1, targets)[..., 0].double()
        if constraint is None:
            normalisers = logits.logsumexp(-1).double()
        else:
            normalisers = _allowed_log_sums(logits, chunk, constraint)
        lengths = torch.tensor([len(sequence) for sequence in chunk], device=logits.device)
        real = torch.arange(logits.shape[1], device=logits.device) < lengths[:, None]
        sums = (values - normalisers).masked_fill(~real, 0.0).sum(1).cpu().tolist()
        for row, total in zip(rows, sums, strict=True):
            scores[row] = total
    return scores


def _chunks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the positions of sequences of similar length, a bounded number of tokens at a time."""
    chunk: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if chunk and (len(chunk) + 1) * lengths[row] > _MAX_POSITIONS:
            yield chunk
            chunk = []
        chunk.append(row)
    if chunk:
        yield chunk


def _padded(sequences: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return sequences as one matrix; int64, (sequences, longest)."""
    longest = max(map(len, sequences))
    return torch.tensor([[*sequence, *[pad] * (longest - len(sequence))] for sequence in sequences])


def _allowed_log_sums(
    logits: Tensor, sequences: Sequence[Sequence[int]], constraint: Constraint
) -> Tensor:
    """Return the log-sum-exp of the allowed tokens' logits; infinity where a token is not allowed.

    Parameters
    ----------
    logits
        Logits of each token; float32, (sequences, longest, vocabulary).
    sequences
        The sequences.
    constraint
        The constraint; the sequences begin in its start state.
    """
    count, longest, vocabulary = logits.shape
    batch = ConstraintBatch([constraint])
    sums = logits.new_full((count, longest), torch.inf, dtype=torch.float64)
    states: Ints = np.full(count, constraint.start, dtype=np.int64)
    for position in range(longest):
        rows = np.flatnonzero(
            [state >= 0 and position < len(s) for state, s in zip(states, sequences, strict=True)]
        )
        if not rows.size:
            break
        # All sequences are of one input, the first and only one of the batch.
        found = batch.next_tokens(np.zeros_like(rows), states[rows], vocabulary)
        tokens = np.array([sequences[row][position] for row in rows.tolist()], dtype=np.int64)
        after = found.states_after(found.rows, tokens)
        for row, group in zip(rows.tolist(), found.rows.tolist(), strict=True):
            offset, size = int(found.offsets[group]), int(found.sizes[group])
            allowed = torch.from_numpy(found.tokens[offset : offset + size]).to(logits.device)
            sums[row, position] = logits[row, position, allowed].double().logsumexp(0)
        sums[torch.from_numpy(rows[after < 0]).to(sums.device), position] = torch.inf
        states[rows] = after
    return sums
