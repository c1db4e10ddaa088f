"""The claims on docs/synthesis.md are those that the command on it writes."""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path

from admiral.kb import KnowledgeBase, demo_kb
from admiral.synthesis import SynthesisSettings, Synthesizer

PAGE = Path(__file__).parents[2] / "docs" / "synthesis.md"


def test_the_examples_are_written(user_cache):
    text = PAGE.read_text(encoding="utf-8")
    examples = [json.loads(one) for one in re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)]
    count = int(re.findall(r"synthesize --kb demo --count (\d+)", text)[0])
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        claims = islice(Synthesizer(kb, SynthesisSettings()).claims(), count)
        records = json.loads(json.dumps([claim.to_json() for claim in claims]))
    assert len(examples) == 5 and {len(one["described"]) for one in examples} == {1, 2, 3}
    for example in examples:
        assert example in records
