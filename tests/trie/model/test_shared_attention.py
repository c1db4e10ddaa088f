"""The scores of an input's beams do not depend on the rest of the batch."""

from pathlib import Path

import pytest
import torch
from transformers import BartForConditionalGeneration

import admiral
from tests.trie.cpu_features import SAME_BITS
from trie import TokenTrie, TrieConstraint, beam_search
from trie.model.seq2seq import Seq2Seq

MINI = Path(admiral.__file__).parent / "data" / "mini"
LENGTHS = [37, 141, 64, 230]
BEAMS, STEPS = 25, 6


def decoded(model, inputs, tokens, parts):
    """Return the log-probabilities after each token; tokens are read in parts."""
    encoded, cache = model.encode(inputs), model.new_cache()
    found = [model.step(encoded, cache, part) for part in tokens.split(list(parts), dim=2)]
    return torch.cat(found, dim=2).log_softmax(-1)


def mini(dtype):
    return Seq2Seq(BartForConditionalGeneration.from_pretrained(MINI, dtype=torch.float32), dtype)


@pytest.mark.parametrize(("dtype", "gap"), [(torch.float32, 1e-4), (torch.bfloat16, 0.5)])
def test_steps_do_not_depend_on_the_batch(dtype, gap, set_threads):
    """Nor on threads, the number of beams of other inputs, or tokens read together."""
    model = mini(dtype)
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randint(1000, 30000, (n,), generator=generator).tolist() for n in LENGTHS]
    tokens = torch.randint(1000, 30000, (len(inputs), BEAMS, STEPS), generator=generator)
    set_threads(1)
    together = decoded(model, inputs, tokens, [1] * STEPS)
    for number, beams, parts in ((1, 25, [1, 3, 2]), (2, 25, [1] * STEPS), (1, 4, [2, 4])):
        set_threads(number)
        for at, ids in enumerate(inputs):
            alone = decoded(model, [ids], tokens[at, None, :beams], parts)[0]
            assert (alone - together[at, :beams]).abs().max() <= (0 if SAME_BITS else gap)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_hypotheses_have_equal_scores_alone_and_in_a_batch(dtype, set_threads):
    """From the first step on, when every input has one beam."""
    set_threads(1)
    model = mini(dtype)
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randint(1000, 30000, (n,), generator=generator).tolist() for n in LENGTHS]
    sequences = torch.randint(1000, 30000, (200, 4), generator=generator).tolist()
    constraint = TrieConstraint(TokenTrie.build(sequences), model.eos)

    def decode(batch):
        return beam_search(model, batch, [constraint] * len(batch), beam_size=5, max_length=8)

    for ids, together in zip(inputs, decode(inputs), strict=True):
        (alone,) = decode([ids])
        if SAME_BITS:
            assert alone == together
        else:
            gap = 1e-3 if dtype is torch.float32 else 0.3
            scores = [[one.score for one in some] for some in (alone, together)]
            assert scores[0] == pytest.approx(scores[1], abs=gap)
