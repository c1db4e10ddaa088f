"""Compare the processor with transformers' prefix function, and test its limits."""

import random
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel

from tests.trie.helpers import bart as tiny_bart
from trie import ConstraintLogitsProcessor, TokenTrie, Transitions, TrieConstraint

PAD, EOS, VOCABULARY = 1, 2, 20


@cache
def bart():
    return tiny_bart(decoder_layers=1, max_position_embeddings=32, init_std=0.5)


@cache
def gpt2():
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=32,
        n_embd=16,
        n_layer=1,
        n_head=2,
        initializer_range=0.5,
        bos_token_id=0,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    return GPT2LMHeadModel(config).eval()


def constraint_of(sequences):
    return TrieConstraint(TokenTrie.build(sequences), EOS)


def prefix_function(lists, prompt):
    """Return a slow prefix function for `generate` that scans a list for each input."""

    def following(batch, ids):
        decoded = ids.tolist()[prompt:]
        found = {
            (*sequence, EOS)[len(decoded)]
            for sequence in lists[batch]
            if len(decoded) <= len(sequence) and list(sequence[: len(decoded)]) == decoded
        }
        return sorted(found) or decoded[-1:]  # an empty list is an error there

    return following


def padded(inputs, *, left):
    longest = max(map(len, inputs))
    fill = [[PAD] * (longest - len(ids)) for ids in inputs]
    rows = [f + i if left else i + f for i, f in zip(inputs, fill, strict=True)]
    ids = torch.tensor(rows)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long()}


def until_end(row):
    return tuple(row[: row.index(EOS)])


def random_lists(rng, inputs, most):
    """Sequences that share prefixes, and of which some are prefixes of others."""

    def one():
        return tuple(rng.randint(3, 6) for _ in range(rng.randint(1, 5)))

    return [[one() for _ in range(rng.randint(1, most))] for _ in range(inputs)]


@pytest.mark.parametrize("decoder_only", [False, True])
@pytest.mark.parametrize("beams", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_prefix_function(seed, beams, decoder_only):
    rng = random.Random(100 * beams + seed)
    model = gpt2() if decoder_only else bart()
    # The last seed has fewer sequences than beams.
    lists = random_lists(rng, 3, 40 if seed < 2 else 2)
    inputs = padded([[rng.randint(3, 19) for _ in range(n)] for n in (4, 1, 7)], left=decoder_only)
    prompt = inputs["input_ids"].shape[1] if decoder_only else 1
    processor = ConstraintLogitsProcessor(list(map(constraint_of, lists)), prompt_length=prompt)

    def generate(**how):
        out = model.generate(
            **inputs,
            num_beams=beams,
            num_return_sequences=beams,
            do_sample=False,
            max_new_tokens=7,
            output_scores=True,
            return_dict_in_generate=True,
            **how,
        )
        return out.sequences, torch.stack(out.scores) if beams == 1 else out.sequences_scores

    expected, scores = generate(prefix_allowed_tokens_fn=prefix_function(lists, prompt))
    for _ in range(2):  # a processor may be used again
        found, found_scores = generate(logits_processor=[processor])
        assert torch.equal(found, expected)
        assert torch.equal(found_scores, scores)
    for row, ids in enumerate(found[:, prompt:].tolist()):
        assert until_end(ids) in lists[row // beams]


@st.composite
def cases(draw):
    token = st.integers(3, VOCABULARY - 1)
    sequences = st.lists(st.lists(token, min_size=1, max_size=5).map(tuple), min_size=1, max_size=9)
    inputs = draw(st.lists(st.lists(token, min_size=1, max_size=5), min_size=1, max_size=3))
    return [draw(sequences) for _ in inputs], inputs


@given(cases(), st.integers(1, 4), st.booleans(), st.booleans(), st.integers(0, 9))
def test_every_output_is_a_listed_sequence(case, beams, sample, decoder_only, seed):
    """Greedy search, beam search and sampling, also with fewer sequences than beams."""
    torch.manual_seed(seed)
    lists, raw = case
    inputs = padded(raw, left=decoder_only)
    prompt = inputs["input_ids"].shape[1] if decoder_only else 1
    constraints = list(map(constraint_of, lists))
    out = (gpt2() if decoder_only else bart()).generate(
        **inputs,
        logits_processor=[ConstraintLogitsProcessor(constraints, prompt_length=prompt)],
        max_new_tokens=max(c.longest for c in constraints),
        num_beams=1 if sample else beams,
        num_return_sequences=beams,
        do_sample=sample,
    )
    assert len(out) == beams * len(lists)
    for row, ids in enumerate(out[:, prompt:].tolist()):
        sequence = until_end(ids)
        assert sequence in lists[row // beams]
        rows = constraints[row // beams].parse(ids)
        assert {lists[row // beams][r] for r in rows} == {sequence}


@given(cases(), st.randoms(use_true_random=False))
def test_beams_may_be_reordered_between_steps(case, rng):
    """Rows come in any order at each step; compared with the slow prefix function."""
    sequences = case[0][0]
    processor = ConstraintLogitsProcessor(constraint_of(sequences), prompt_length=2)
    following = prefix_function([sequences], 2)
    rows = [()] * 4
    for _ in range(8):
        scores = torch.randn(4, VOCABULARY)
        ids = torch.tensor([(0, PAD, *row) for row in rows])
        kept = processor(ids, scores)
        extended = []
        for row, prefix, now in zip(ids, rows, kept, strict=True):
            allowed = following(0, row)
            assert set(torch.isfinite(now).nonzero()[:, 0].tolist()) == set(allowed)
            assert torch.equal(now[allowed], scores[len(extended), allowed])
            extended.append((*prefix, rng.choice(allowed)))
        rows = [rng.choice(extended) for _ in rows]


class Alternating:
    """A constraint without a trie: two alternating tokens, any number of times."""

    start = 0

    def transitions(self, states):
        moves = [[(EOS, 2), (5, 1)], [(6, 0)], []]
        found = [move for state in states.tolist() for move in moves[state]]
        tokens, next_states = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return Transitions(tokens, next_states, np.array([2, 1, 0])[states])


def test_any_constraint_is_accepted():
    out = bart().generate(
        **padded([[4], [9]], left=False),
        logits_processor=[ConstraintLogitsProcessor([Alternating(), constraint_of([(9, 9)])])],
        num_beams=3,
        max_new_tokens=8,
    )
    first, second = out[:, 1:].tolist()
    legal = {(5, 6) * n + (EOS,) * (8 - 2 * n) for n in range(5)}  # the end token, then padding
    assert tuple(EOS if token == PAD else token for token in first) in legal
    assert until_end(second) == (9, 9)


def test_other_processors_still_apply():
    """Forbidden tokens are avoided wherever the constraint allows another token."""

    def generate(*sequences, **how):
        out = bart().generate(
            **padded([[4, 5]], left=False),
            logits_processor=[ConstraintLogitsProcessor(constraint_of(sequences))],
            max_new_tokens=8,
            **how,
        )
        return until_end(out[0, 1:].tolist())

    assert generate((3,), (4,), bad_words_ids=[[3]]) == (4,)
    assert generate((3,), (4,), bad_words_ids=[[4]]) == (3,)
    with pytest.warns(RuntimeWarning, match="forbids every token"):
        assert generate((3, 3, 3), no_repeat_ngram_size=1) == (3, 3, 3)
    with pytest.warns(RuntimeWarning, match="forbids every token"):
        assert generate((3, 3, 3), (7, 8), no_repeat_ngram_size=1, num_beams=2) == (7, 8)
    with pytest.warns(RuntimeWarning, match="forbids every token"):
        assert generate((3, 4), (3, 5), forced_bos_token_id=0) in {(3, 4), (3, 5)}


def test_invalid_use_is_rejected():
    constraint, scores = constraint_of([(3, 4)]), torch.zeros(3, VOCABULARY)
    ids = torch.tensor([[7, 8, 9]] * 3)
    with pytest.raises(ValueError, match="at least one constraint"):
        ConstraintLogitsProcessor([])
    with pytest.raises(ValueError, match="prompt_length of at least 0"):
        ConstraintLogitsProcessor(constraint, prompt_length=-1)
    with pytest.raises(ValueError, match=r"tokens \[8, 9\] .* is prompt_length correct"):
        ConstraintLogitsProcessor(constraint)(ids, scores)
    with pytest.raises(ValueError, match="prompt_length is 4, but there are 3"):
        ConstraintLogitsProcessor(constraint, prompt_length=4)(ids, scores)
    with pytest.raises(ValueError, match="3 rows cannot be divided among 2"):
        ConstraintLogitsProcessor([constraint] * 2, prompt_length=3)(ids, scores)
    with pytest.raises(ValueError, match="outside the model's vocabulary of 20"):
        ConstraintLogitsProcessor(constraint_of([(VOCABULARY,)]), prompt_length=3)(ids, scores)

    class Nothing(Alternating):
        start = 2

    with pytest.raises(ValueError, match="nothing at all"):
        ConstraintLogitsProcessor(Nothing(), prompt_length=3)(ids, scores)
