"""Fit the weights of the ranking `learned`: how much each feature of a document counts.

Run as ``python -m training ranking --source hover:TRAIN --kb KB --out FILE``, then use ``admiral
retrieve --set ranking_weights=FILE``. The program runs the hops of claims whose gold documents are
known, which takes one or two seconds per claim, and fits the weights in a minute. The claims may be
those that the model was trained on. The hops select evidence with the existing weights, so a second
round, with ``--set ranking_weights=FILE``, fits the weights to their own choices. If the features
have changed since the existing weights were fitted, start with ``--set ranking=fused``. If the
knowledge base has a graph, the weights also count how close documents are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import click
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.io.progress import track_claims
from admiral.retrieval.document_ranking import (
    FEATURES,
    HiddenUnit,
    NetworkDocumentScorer,
    document_features,
)
from admiral.retrieval.state import SearchState
from admiral.storage.atomic_files import check_distinct_paths, write_atomically
from training.command_options import (
    gold_source_option,
    limit_option,
    program,
    retrieval_settings_option,
    seed_option,
)
from training.data.claim_sources import Source, sample_claims

# Hidden units, and settings of Adam, which reads all claims at once; `_RIDGE` is the weight of the
# squared parameters in the loss (L2 regularisation).
_UNITS, _ITERATIONS, _LEARNING_RATE, _RIDGE = 8, 300, 0.03, 1e-2
# Up to this share of the squared mean, a variance is due to rounding.
_ROUNDING = 1e-12
# Features that may count against a document. `seen_last` balances the z-score that documents have
# by default if they were not read. What the others mean depends on the kind of claim: a claim that
# names many documents may ask for another one. A better rank, z-score or share among the documents
# that hops read, select or mention never counts against a document.
_UNCONSTRAINED = ("first_stage", "named", "named_early", "seen_last", "probability")

# Features of documents, float32, (documents, features); and which of them are gold, bool.
RankingExample = tuple[torch.Tensor, torch.Tensor]


def ranking_examples(
    system: Admiral, claims: Sequence[GoldClaim]
) -> Iterator[list[RankingExample]]:
    """Run the hops of claims and yield, for each claim, one example per number of hops.

    Features differ in meaning after one hop and after several. The examples after each hop let one
    set of weights serve any number of hops.
    """
    inputs = (Claim(claim.id, claim.claim) for claim in claims)
    for state, claim in zip(system.search_states(inputs), claims, strict=True):
        prefixes = (state.first_hops(count) for count in range(1, len(state.hops) + 1))
        yield [e for prefix in prefixes if (e := ranking_example(prefix, claim)) is not None]


def ranking_example(state: SearchState, claim: GoldClaim) -> RankingExample | None:
    """Return features and labels of a claim's documents; None unless both labels occur.

    Of alternative evidence sets, the one with the largest share of its documents found is gold. The
    other sets' documents are left out, because they are neither needed nor wrong.
    """
    features = document_features(state)
    shares = {one: sum(t in features for t in one) / len(one) for one in claim.title_sets}
    titles = max(shares, key=shares.__getitem__, default=())
    labels = {
        title: title in titles
        for title in features
        if title in titles or title not in claim.all_titles
    }
    gold = torch.tensor(list(labels.values()), dtype=torch.bool)
    if not gold.any() or gold.all():
        return None
    return torch.tensor([features[title] for title in labels]), gold


def fit_document_scorer(
    features: Sequence[torch.Tensor], gold: Sequence[torch.Tensor], seed: int = 0
) -> NetworkDocumentScorer:
    """Fit the weights that rank all gold documents above the others.

    The loss contrasts the gold document with the lowest score (a soft minimum) with all other
    documents (a soft maximum), because a claim is answered only when its last gold document has
    been found. No vote is negative, nor is the weight of a feature that must not count against a
    document.

    `features`: for each claim the features of its documents, (documents, features). `gold`: for
    each claim which of them are gold, bool, (documents,). Both labels occur.
    """
    right = pad_sequence(list(gold), batch_first=True)
    wrong = pad_sequence([~labels for labels in gold], batch_first=True)
    free = torch.tensor([name in _UNCONSTRAINED for name in FEATURES])
    scaler = StandardScaler().fit(torch.cat(list(features)).double().numpy())
    mean, deviation = torch.from_numpy(scaler.mean_), torch.from_numpy(scaler.scale_)
    # A feature that is constant in the training data must have no effect on other data either.
    deviation[torch.from_numpy(scaler.var_) <= _ROUNDING * (1 + mean.abs()) ** 2] = torch.inf
    padded = pad_sequence([(own - mean) / deviation for own in features], batch_first=True)
    inputs = padded.float()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        hidden = nn.Linear(len(FEATURES), _UNITS)
        votes = nn.Linear(_UNITS, 1, bias=False)
    parameters = [*hidden.parameters(), *votes.parameters()]
    optimizer = torch.optim.Adam(parameters, _LEARNING_RATE)
    for _ in range(_ITERATIONS):
        weight = torch.where(free, hidden.weight, hidden.weight.abs())
        scores = (inputs @ weight.T + hidden.bias).tanh() @ votes.weight[0].abs()
        best_wrong = scores.masked_fill(~wrong, -torch.inf).logsumexp(1)
        worst_right = -(-scores).masked_fill(~right, -torch.inf).logsumexp(1)
        value = nn.functional.softplus(best_wrong - worst_right).mean()
        value = value + _RIDGE * sum(p.square().sum() for p in parameters)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    with torch.no_grad():
        weight = torch.where(free, hidden.weight, hidden.weight.abs()) / deviation
        bias = hidden.bias - weight @ mean
    fitted = zip(votes.weight[0].abs().tolist(), bias.tolist(), weight.tolist(), strict=True)
    return NetworkDocumentScorer(
        tuple(
            HiddenUnit(vote, unit_bias, dict(zip(FEATURES, weights, strict=True)))
            for vote, unit_bias, weights in fitted
        )
    )


@program
@gold_source_option
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File of the weights.")
@limit_option(400)
@retrieval_settings_option
@click.option(
    "--held-out",
    type=click.FloatRange(0, 1, min_open=True),
    help="Use only the claims that --hold-out with the same share left out; default: all.",
)
@seed_option
def main(
    sources: tuple[str, ...],
    kb: str,
    model: str,
    out: Path,
    limit: int,
    settings: tuple[str, ...],
    held_out: float | None,
    seed: int,
) -> None:
    """Fit the weights of the ranking `learned` on claims with gold documents."""
    parsed = [Source.parse(text).only_held_out(held_out) for text in sources]
    check_distinct_paths(out, *(source.path for source in parsed))
    config = load_config(None, [*settings, f"kb={kb}", f"model={model}"])
    with Admiral.from_pretrained(config=config) as system:
        claims = sample_claims(parsed, system.kb, limit, seed)
        tracked = track_claims(ranking_examples(system, claims), done=0, total=len(claims))
        by_claim = [examples for examples in tracked if examples]
    if not by_claim:
        raise AdmiralError(
            f"{', '.join(sources)}: no gold document was found in {kb}. Give the knowledge "
            "base that the claims were annotated on"
        )
    features, gold = zip(*chain(*by_claim), strict=True)
    write_atomically(out, [fit_document_scorer(features, gold, seed).to_json().encode()])
    click.echo(f"{out}: fitted on {len(by_claim):,} of {len(claims):,} claims", err=True)
