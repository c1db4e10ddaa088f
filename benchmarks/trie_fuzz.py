"""Damaged tries and journals, opened by the hundred thousand: refused, or as good as any.

    python -m benchmarks.trie_fuzz [--rounds 200000] [--seed 0] [--workers 2]

Files are cut, mixed up and changed; in half of the rounds the checksums are mended afterwards, so
that the checks behind them are put to the test. What opens is read as a whole, as decoding would
read it; its blocks are small, so that it has several, and it may be refused at any of them. If no
checksum was mended, all that is read until then has to be what was saved. Else it may be another
trie, but one that building it from its sequences would have given, and a journal has to do what it
says. Checking everything at once has to come to the same.

Rounds run in processes of their own: one that crashes, or takes more than ten seconds for a round,
ends the run with an error that names the round.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import numpy as np

from benchmarks.damage import damage_journal, damage_trie
from trie import TokenTrie, Trie, TrieFileError, UpdatedTrie
from trie.index import trie_build as building
from trie.index.trie_build import TrieArrays
from trie.index.trie_files import open_arrays, write_arrays

_TRIES, _CHUNK, _SECONDS, _BLOCK = 40, 10_000, 10, 64
Sequences = dict[int, list[int]]


def spells(trie: Trie, found: Sequences | None = None) -> Sequences:
    """Walk all of a trie by what decoding uses; return its sequences by row, put into `found`."""
    found = {} if found is None else found
    seen: set[int] = set()
    todo: list[tuple[int, list[int]]] = [(trie.root, [])]
    while todo:
        node, path = todo.pop()
        assert 0 <= node < trie.nodes and node not in seen, "a circle"
        seen.add(node)
        rows = trie.rows(node).tolist()
        assert trie.ends(node) == bool(rows)
        tokens, nodes = trie.children(node)
        assert tokens.size or rows or not len(trie), "a dead end"
        assert np.all(np.diff(tokens) > 0)
        for row in rows:
            assert row not in found, "a row at two nodes"
            found[row] = path
        for token, below in zip(tokens.tolist(), nodes.tolist(), strict=True):
            assert trie.child(node, token) == below
            todo.append((below, [*path, token]))
    assert len(found) == len(trie)
    return dict(sorted(found.items()))


def parts(arrays: TrieArrays) -> list[list[int]]:
    """Return what decoding reads of a trie's arrays."""
    bits = [vector.words.tolist() for vector in (arrays.firsts, arrays.inner, arrays.ends)]
    return [
        *bits,
        arrays.tokens[1:].tolist(),
        arrays.rows.unpack().tolist(),
        arrays.shared.tolist(),
    ]


def is_sound(directory: Path) -> bool:
    """Whether the trie in a directory passes a check of everything."""
    try:
        TokenTrie.open(directory).check()
    except TrieFileError:
        return False
    return True


class Saved:
    """Tries in files, and journals of changes; each is damaged and put right again."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder = folder
        self._tries: list[tuple[Path, list[list[int]]]] = []
        self._journals: list[tuple[Path, TokenTrie, Sequences]] = []
        for number in range(_TRIES):
            sequences = [
                [rng.choice([0, 1, 2, 300]) for _ in range(rng.randrange(rng.choice([4, 9])))]
                for _ in range(rng.choice([0, 1, 2, 7, 40, 200]))
            ]
            place = folder / f"trie{number}"
            place.mkdir()
            trie = TokenTrie.build(sequences)
            write_arrays(building.build_arrays(*building.concatenate(sequences)), place, _BLOCK)
            self._tries.append((place, sequences))
            changed = UpdatedTrie(trie).add([[1, number % 3], [4], [300, 300]])
            here = [*range(len(trie) + 3)]
            changed = changed.remove(rng.sample(here, rng.randrange(len(here))))
            path = folder / f"changes{number}"
            changed.save(path)
            self._journals.append((path, trie, spells(changed)))

    def trie(self, rng: random.Random) -> str:
        """Damage a trie, open it and read it; return what came of it."""
        (place, sequences), (other, _) = rng.sample(self._tries, 2)
        contents = {path: path.read_bytes() for path in place.iterdir()}
        mended = damage_trie(rng, place, other)
        found: Sequences = {}
        outcome = "refused when opened"
        try:
            trie = TokenTrie.open(place)
            outcome = "refused when read"
            read = [*spells(trie, found).values()]
        except TrieFileError as error:
            assert error.path.parent == place and str(error.path) in str(error)
            if not mended:
                assert all(sequences[row] == one for row, one in found.items()), "too late"
            assert not is_sound(place)
        else:
            if not mended:
                assert read == sequences, "the damage was not noticed"
            arrays, _ = open_arrays(place)
            assert parts(arrays) == parts(building.build_arrays(*building.concatenate(read)))
            assert is_sound(place) or trie.nodes == 1, "the root's token is nobody's"
            outcome = "equal" if read == sequences else "another sound trie"
            del trie, arrays
        for path, content in contents.items():
            path.write_bytes(content)
        return f"trie, checksums {'mended' if mended else 'as they were'}: {outcome}"

    def journal(self, rng: random.Random) -> str:
        """Damage a journal and open it; return what came of it."""
        path, base, sequences = rng.choice(self._journals)
        content = path.read_bytes()
        mended = damage_journal(rng, path)
        try:
            found = spells(UpdatedTrie.open(path, base))
        except ValueError as error:
            assert str(path) in str(error), "the error does not name the file"
            outcome = "refused"
        else:
            says = json.loads(path.read_bytes().split(b"\n")[1])
            expected = {row: one for row, one in spells(base).items() if row not in says["removed"]}
            expected |= dict(zip(says["added"], says["sequences"], strict=True))
            assert found == (expected if mended else sequences)
            outcome = "equal" if found == sequences else "other changes, as it says"
        path.write_bytes(content)
        return f"journal, checksum {'mended' if mended else 'as it was'}: {outcome}"


def rounds(folder: Path, first: int, count: int, seed: int, limit: int = 0) -> Counter[str]:
    """Run some rounds in this process, each within `limit` seconds; count what came of them."""
    saved, outcomes = Saved(folder, random.Random(seed)), Counter[str]()
    with open(folder / "round", "wb", buffering=0) as note:
        for number in range(first, first + count):
            os.pwrite(note.fileno(), b"%20d" % number, 0)
            if limit:
                signal.alarm(limit)  # ends the process, whatever it is at
            rng = random.Random(seed << 32 | number)
            outcomes[saved.journal(rng) if rng.random() < 0.2 else saved.trie(rng)] += 1
    signal.alarm(0)
    return outcomes


def in_process(first: int, count: int, seed: int) -> Counter[str]:
    """Run some rounds in another process; an error if it ends badly."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="admiral-fuzz-", dir=memory))
    try:
        numbers = [str(number) for number in (first, count, seed)]
        command = [sys.executable, "-m", "benchmarks.trie_fuzz", "--run", str(folder), *numbers]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            at = (folder / "round").read_text().strip() if (folder / "round").exists() else "no"
            raise click.ClickException(
                f"round {at} of seed {seed} ended with status {done.returncode}\n{done.stderr}"
            )
        return Counter(json.loads(done.stdout))
    finally:
        shutil.rmtree(folder)


@click.command()
@click.option("--rounds", "total", default=200_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--workers", default=2, show_default=True, help="Processes at a time.")
@click.option("--run", "one", type=(click.Path(path_type=Path), int, int, int), hidden=True)
def main(total: int, seed: int, workers: int, one: tuple[Path, int, int, int] | None) -> None:
    """Run and print."""
    if one:
        print(json.dumps(rounds(*one, _SECONDS)))
        return
    outcomes = Counter[str]()
    firsts = range(0, total, _CHUNK)
    with ThreadPoolExecutor(workers) as pool:
        counts = [min(_CHUNK, total - first) for first in firsts]
        for part in pool.map(in_process, firsts, counts, [seed] * len(counts)):
            outcomes += part
            print(f"{outcomes.total():,} rounds", file=sys.stderr)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:9,}  {outcome}")
    print(f"{outcomes.total():9,}  rounds, no crash, no hang")


if __name__ == "__main__":
    main()
