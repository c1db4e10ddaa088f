"""Libraries of earlier releases are read; the archive is one that such a release built."""

import shutil
from pathlib import Path

import pytest

from admiral.cli.main import main
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, info, verify
from admiral.library import Library, migrate_library
from tests.admiral.kb.embeddings.fake_encoder import FakeEncoder


@pytest.fixture
def old(tmp_path):
    shutil.unpack_archive(Path(__file__).with_name("earlier-library.zip"), tmp_path / "old")
    return tmp_path / "old"


def test_an_old_library_is_read_with_its_changes(old, tmp_path, capsys):
    new = tmp_path / "new"
    assert main(["migrate", str(old), str(new), "--no-progress"]) == 0
    assert "4 sources, 12 passages" in capsys.readouterr().out
    assert verify(new) == []
    assert info(new).embedded == {"fake": 12}
    with Library.open(new) as library:
        assert library.settings == {"words": 20, "stride": 10, "bm25": "bm25s", "k1": 0.9, "b": 0.4}
        assert [source.title for source in library.sources()] == [
            "On bird",
            "",
            "On nest",
            "On tit",
        ]
        tit = library.source("example.org/tit")
        assert (tit.url, tit.site) == ("https://www.example.org/tit/", "Example")
        assert (tit.date, tit.language) == ("2019-08-02", "en")
        assert tit.archive_url == "https://web.archive.org/web/2019/https://example.org/tit"
        assert tit.text == ("A text about eggs.\n\n" * 12).strip()
        passage = library.passages(tit.url)[1]
        ((best,),) = library.dense(FakeEncoder()).search([f"On tit: {passage.text}"], 1)
        assert best.score == pytest.approx(1, abs=0.01)


def test_other_commands_name_the_migration(old, tmp_path, capsys):
    for read in (Library.open, KnowledgeBase.open, verify, info):
        with pytest.raises(AdmiralError, match=rf"admiral migrate {old} NEW"):
            read(old)
    migrate_library(old, tmp_path / "new")
    with pytest.raises(AdmiralError, match="admiral-library"):
        migrate_library(tmp_path / "new", tmp_path / "other")
    (old / "sources" / "sources.arrow").unlink()
    with pytest.raises(AdmiralError, match="missing"):
        migrate_library(old, tmp_path / "other")
    assert not (tmp_path / "other").exists()
