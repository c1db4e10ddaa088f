"""The benchmark of shortcuts in training examples."""

import random

from click.testing import CliRunner

from benchmarks.example_shortcuts import main
from training.data.examples import Example
from training.data.records import write_records

WORDS = [f"word{n}" for n in range(60)]


def made(source, told_by):
    """Return examples whose label the claim tells, or its overlap with the evidence, or neither."""
    rng = random.Random(source)
    for number in range(200):
        label = ("entailment", "neutral")[number % 2]
        evidence = rng.sample(WORDS, 20)
        known = label == "entailment" if told_by == "overlap" else rng.random() < 0.5
        rest = [word for word in WORDS if word not in evidence]
        claim = rng.sample(evidence if known else rest, 6)
        if told_by == "claim":
            claim.append("always" if label == "neutral" else "sometimes")
        yield Example(" ".join(claim), (("", " ".join(evidence)),), label, source)


def columns(output):
    rows = [line.strip("| ").split(" | ") for line in output.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def test_a_shortcut_is_found_where_there_is_one(tmp_path):
    path = tmp_path / "examples.jsonl"
    kinds = ("claim", "overlap", "nothing")
    write_records(path, (one for kind in kinds for one in made(f"by-{kind}", kind)))
    done = CliRunner().invoke(main, [str(path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = columns(done.output)
    gains = {name: [float(value) for value in row[-2:]] for name, row in rows.items()}
    assert rows["by-claim"][:6] == ["bare", "100", "100", "0", "0", "0.50"]
    assert gains["by-claim"][0] > 0.4 > 0.2 > gains["by-claim"][1]
    assert gains["by-overlap"][1] > 0.4
    assert max(gains["by-nothing"]) < 0.2
