"""Claims with gold evidence, in the formats of HoVer, FEVEROUS and the demo claims."""

from __future__ import annotations

import json
from pathlib import Path

from training.annotated import GoldClaim


def read_claims(path: Path) -> list[GoldClaim]:
    """Return the claims with their gold sentences."""
    claims = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        facts = record.get("evidence") or record["supporting_facts"]
        found = tuple(dict.fromkeys((title, int(index)) for title, index in facts))
        claims.append(GoldClaim(record["claim"], found, None))
    return claims
