"""The settings switch lexicons on, and say which file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.retrieval.lexicon_settings import open_lexicon
from proofs import NatOp


def test_lists_join_the_built_in_lexicon(tmp_path: Path) -> None:
    antonyms, paraphrases = tmp_path / "antonyms.txt", tmp_path / "paraphrases.txt"
    antonyms.write_text("en_alive en_dead\n")
    paraphrases.write_text("wed married\n")
    plain = open_lexicon(RetrievalConfig())
    lists = RetrievalConfig(antonyms=str(antonyms), paraphrases=str(paraphrases))
    lexicon = open_lexicon(lists)
    for one, other, known in [
        ("alive", "dead", NatOp.NEGATION),
        ("married", "wed", NatOp.EQUIVALENCE),
    ]:
        assert lexicon.relation(one, other) is known
        assert plain.relation(one, other) is None
    assert lexicon.relation("in 1873", "in 1874") is NatOp.ALTERNATION
    assert lists.settings() != RetrievalConfig().settings()


@pytest.mark.parametrize("key", ["antonyms", "paraphrases"])
def test_bad_lists_name_setting_and_file(tmp_path: Path, key: str) -> None:
    path = tmp_path / "list.txt"
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt: cannot be read: No such file"):
        open_lexicon(RetrievalConfig(**{key: str(path)}))
    path.write_text("a b\nlonely\n")
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt:2: expected two words"):
        open_lexicon(RetrievalConfig(**{key: str(path)}))
