"""A fixed share of claims that the model is not trained on, to fit other weights on.

The document scorer reads the model's scores. Fitted on claims that the model was trained on, its
weights would trust these scores too much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import click


def is_held_out(claim: str, share: float) -> bool:
    """Return whether a claim belongs to the held-out share, by a hash of its text.

    Parameters
    ----------
    claim
        The text of the claim.
    share
        The share of claims to hold out, from 0 to 1.
    """
    number = int.from_bytes(hashlib.sha256(claim.encode()).digest()[:4])
    return number / 2**32 < share


def hold_out_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--hold-out SHARE`` to a program that builds training samples."""
    option = click.option(
        "--hold-out",
        default=0.0,
        show_default=True,
        type=click.FloatRange(0, 1, max_open=True),
        help="Share of the claims to leave out, for training.ranking --held-out.",
    )
    return option(command)


def held_out_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--held-out SHARE`` to a program that fits weights."""
    option = click.option(
        "--held-out",
        type=click.FloatRange(0, 1, min_open=True),
        help="Use only the claims that --hold-out with the same share leaves out; default: all.",
    )
    return option(command)
