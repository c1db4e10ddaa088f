"""AdMIRaL: multi-hop retrieval of documents and evidence that verify a claim.

>>> from admiral import Admiral
>>> with Admiral.from_pretrained("mini") as system:             # doctest: +SKIP
...     result = system.retrieve("A claim.", hops="dynamic")
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Set before torch is imported: on busy cores, threads that wait by spinning slow down every small
# operation.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# oneDNN caches compiled code for each shape of a matrix product, by default for 1,024 shapes, which
# takes some hundred megabytes. Texts have many lengths, so few shapes recur.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")

from admiral.errors import AdmiralError, RecordError

if TYPE_CHECKING:
    from admiral.config import RetrievalConfig, load_config
    from admiral.pipeline import Admiral
    from admiral.records import Claim, Document, RetrievalResult

__version__ = "0.2.0"

__all__ = [
    "Admiral",
    "AdmiralError",
    "Claim",
    "Document",
    "RecordError",
    "RetrievalConfig",
    "RetrievalResult",
    "__version__",
    "load_config",
]

# The modules of public names that are imported on first use: `admiral --help` must not wait for
# torch.
_MODULES = {
    "Admiral": "admiral.pipeline",
    "Claim": "admiral.records",
    "Document": "admiral.records",
    "RetrievalConfig": "admiral.config",
    "RetrievalResult": "admiral.records",
    "load_config": "admiral.config",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'admiral' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
