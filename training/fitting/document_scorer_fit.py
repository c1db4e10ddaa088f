"""Fit the document scorer on documents that the system finds for claims with gold documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from admiral import Admiral, Claim
from admiral.gold import GoldClaim
from admiral.ranking.document_scorer import NetworkDocumentScorer
from admiral.ranking.features import FEATURES, document_features
from admiral.retrieval.state import SearchState
from training.fitting.network_fit import FitSettings, fit_network

_DOCUMENT_SCORER = FitSettings(units=8, iterations=300, learning_rate=0.03, ridge=1e-2)
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
    been found.

    Parameters
    ----------
    features
        For each claim the features of its documents, float32, (documents, features).
    gold
        For each claim which of them are gold, bool, (documents,). Both labels occur.
    seed
        Seed of the initial weights.

    Returns
    -------
    NetworkDocumentScorer
        With units for features that are not standardised. No vote is negative, nor is the weight
        of a feature that must not count against a document.
    """
    right = pad_sequence(list(gold), batch_first=True)
    wrong = pad_sequence([~labels for labels in gold], batch_first=True)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        best_wrong = scores.masked_fill(~wrong, -torch.inf).logsumexp(1)
        worst_right = -(-scores).masked_fill(~right, -torch.inf).logsumexp(1)
        return nn.functional.softplus(best_wrong - worst_right).mean()

    units, _ = fit_network(
        features, FEATURES, loss, _DOCUMENT_SCORER, seed=seed, unconstrained=_UNCONSTRAINED
    )
    return NetworkDocumentScorer(units)
