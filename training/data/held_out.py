"""A fixed share of claims that the model is not trained on, to fit other weights on.

The document scorer reads the model's scores. Fitted on claims that the model was trained on, its
weights would trust these scores too much.
"""

from __future__ import annotations

import hashlib


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
