"""Log probabilities of given sequences (forced decoding), without a search."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from trie.attention import EncodedInputs
from trie.grammar import Constraint
from trie.seq2seq import Seq2Seq
from trie.token_trie import Ints

# Rows of logits that are computed at once; more would only take memory.
_MAX_ROWS = 128


class SequenceScorer:
    """Score sequences of a batch of inputs, given as token ids, which are encoded once.

    By default, scores are the log-softmax over the full vocabulary. With a constraint for each
    input, they are normalised over the allowed tokens only.

    Raises ValueError if the lists differ in length, or an input does not fit into the model.
    """

    def __init__(
        self,
        model: Seq2Seq,
        inputs: Sequence[Sequence[int]],
        constraints: Sequence[Constraint] | None = None,
    ) -> None:
        if constraints is not None and len(constraints) != len(inputs):
            raise ValueError(f"{len(inputs)} inputs, but {len(constraints)} constraints")
        self._model, self._constraints = model, constraints
        self._encoded = model.encode(inputs) if inputs else None

    def score(self, sequences: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
        """Return the summed natural log probabilities of the tokens of each input's sequences.

        Sequences are given without the start token. Those of an input are decoded together, each of
        their distinct prefixes once. On a CPU, scores do not depend on the other inputs. With
        constraints, a sequence that is not allowed, or continues after the end token, has minus
        infinity.

        Raises ValueError if the number of lists is not that of the inputs, or a sequence is empty
        or longer than the model decodes.
        """
        count = 0 if self._encoded is None else len(self._encoded)
        if len(sequences) != count:
            raise ValueError(f"{count} inputs, but {len(sequences)} lists of sequences")
        scores: list[list[float]] = []
        for index, own in enumerate(sequences):
            for sequence in own:
                if not 1 <= len(sequence) <= self._model.max_target:
                    raise ValueError(
                        f"a sequence has {len(sequence)} tokens; the model decodes 1 to "
                        f"{self._model.max_target}"
                    )
            if not own or self._encoded is None:
                scores.append([])
                continue
            constraint = None if self._constraints is None else self._constraints[index]
            with self._model.inference_context():
                encoded = self._encoded.select([index])
                scores.append(_score(self._model, encoded, own, constraint))
        return scores


def _score(
    model: Seq2Seq,
    encoded: EncodedInputs,
    sequences: Sequence[Sequence[int]],
    constraint: Constraint | None,
) -> list[float]:
    prefixes = _Prefixes(model.start)
    paths = [prefixes.add(sequence) for sequence in sequences]
    states = model.tree_states(
        encoded, torch.tensor(prefixes.tokens), torch.tensor(prefixes.depths), prefixes.visible()
    )
    allowed = None if constraint is None else _allowed_tokens(prefixes, constraint)
    edges = sorted({edge for path in paths for edge in path})
    scores: dict[tuple[int, int], float] = {}
    for first in range(0, len(prefixes.tokens), _MAX_ROWS):
        logits = model.logits(states[first : first + _MAX_ROWS])
        if allowed is None:
            log_sums = logits.logsumexp(-1)
        else:
            rows = zip(logits, allowed[first : first + _MAX_ROWS], strict=True)
            log_sums = torch.stack([row[tokens].logsumexp(0) for row, tokens in rows])
        part = [edge for edge in edges if first <= edge[0] < first + len(logits)]
        numbers = torch.tensor([prefix - first for prefix, _ in part], device=logits.device)
        tokens = torch.tensor([token for _, token in part], device=logits.device)
        values = logits[numbers, tokens] - log_sums[numbers]
        scores.update(zip(part, values.cpu().tolist(), strict=True))
    if allowed is not None:
        sets = [set(tokens.tolist()) for tokens in allowed]
        scores |= {edge: -math.inf for edge in edges if edge[1] not in sets[edge[0]]}
    return [sum(scores[edge] for edge in path) for path in paths]


class _Prefixes:
    """The distinct prefixes of sequences, from the empty one on; parents come first."""

    def __init__(self, start: int) -> None:
        # The last token of each prefix, its length, and its number without its last token.
        self.tokens, self.depths, self.parents = [start], [0], [0]
        # The number of the prefix that extends another one by a token.
        self.numbers: dict[tuple[int, int], int] = {}

    def add(self, sequence: Sequence[int]) -> list[tuple[int, int]]:
        """Add the prefixes of a sequence; return, for each of its tokens, the prefix before it."""
        path = [(0, sequence[0])]
        for token in sequence[1:]:
            edge = path[-1]
            if edge not in self.numbers:
                self.numbers[edge] = len(self.tokens)
                self.tokens.append(edge[1])
                self.depths.append(len(path))
                self.parents.append(edge[0])
            path.append((self.numbers[edge], token))
        return path

    def visible(self) -> Tensor:
        """Return which prefixes each prefix begins with; bool, (prefixes, prefixes)."""
        visible = torch.eye(len(self.tokens), dtype=torch.bool)
        for number, parent in enumerate(self.parents):
            visible[number] |= visible[parent]
        return visible


def _allowed_tokens(prefixes: _Prefixes, constraint: Constraint) -> list[Ints]:
    """Return the tokens that a constraint allows after each prefix; none after forbidden ones."""
    following: list[dict[int, int]] = []
    for number, (token, parent) in enumerate(zip(prefixes.tokens, prefixes.parents, strict=True)):
        state = following[parent].get(token, -1) if number else constraint.start
        found = None if state < 0 else constraint.transitions(np.array([state]))
        pairs = () if found is None else zip(found.tokens, found.next_states, strict=True)
        following.append({int(token): int(after) for token, after in pairs})
    return [np.array(list(tokens), dtype=np.int64) for tokens in following]
