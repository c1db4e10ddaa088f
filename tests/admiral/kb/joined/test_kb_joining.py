"""A joined knowledge base equals one built from all documents of its members."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, compact, info, join, remove, verify
from admiral.kb.store import JoinManifest, write_join
from admiral.records import Document
from tests.admiral.kb.versions.test_kb_updating import DOCUMENT, QUERIES, language, view, write
from trie import RenumberedTrie, TokenTrie

_shards = st.lists(
    st.lists(DOCUMENT, min_size=1, max_size=5, unique_by=lambda d: d.title), min_size=1, max_size=4
)
# How a member is made: the number of documents added later, and whether one was removed.
_history = st.tuples(st.integers(0, 4), st.booleans())


def build_member(folder, documents, backend, history):
    """Build a member of these documents, some of them in a delta segment."""
    added, removed = min(history[0], len(documents) - 1), history[1]
    first = documents[: len(documents) - added]
    extra = [Document("To be removed", ("seed eggs of birds",))] if removed else []
    kb = folder / f"kb{len(list(folder.iterdir()))}"
    build(write(folder, extra + first), kb, bm25=backend, progress=False)
    if added:
        add(write(folder, documents[len(first) :]), kb, progress=False)
    if removed:
        remove("To be removed", kb, progress=False)
    return kb


def first_documents(shards):
    first_by_title = {}
    for document in (document for shard in shards for document in shard):
        first_by_title.setdefault(document.title, document)
    return list(first_by_title.values())


def check_joined(shards, histories, tokens, backend, *, exact):
    with TemporaryDirectory() as name:
        folder = Path(name)
        members = [
            build_member(folder, shard, backend, history)
            for shard, history in zip(shards, histories, strict=False)
        ]
        expected = first_documents(shards)
        build(write(folder, expected), folder / "whole", bm25=backend, progress=False)
        report = join(members, folder / "all", on_duplicate="skip")
        hidden = sum(map(len, shards)) - len(expected)
        assert (report.members, report.documents) == (len(members), len(expected))
        assert report.hidden == hidden
        with (
            KnowledgeBase.open(folder / "whole") as whole,
            KnowledgeBase.open(folder / "all") as kb,
        ):
            assert view(kb, tokens, search=exact) == view(whole, tokens, search=exact)
            assert len(kb) == len(kb.rows()) == len(expected)
            assert all(kb.row(kb.title(row)) == row for row in kb.rows().tolist())
            # A small k across members, with ties in the order of rows.
            if exact:
                assert kb.search(QUERIES, 2) == whole.search(QUERIES, 2)
            trie = kb.title_trie(tokens)
            shown = sorted(row for rows in language(trie).values() for row in rows)
            assert (shown, len(trie)) == (kb.rows().tolist(), len(kb))
        assert verify(folder / "all") == []
        facts = info(folder / "all")
        assert (facts.version, facts.hidden, facts.bm25) == (4, hidden, backend)
        assert facts.counts == info(folder / "whole").counts


_histories = st.lists(_history, min_size=4, max_size=4)


@settings(max_examples=settings().max_examples // 6)
@given(shards=_shards, histories=_histories)
def test_a_join_equals_one_build_of_all_documents(shards, histories, tokens):
    check_joined(shards, histories, tokens, "bm25s", exact=True)


@settings(max_examples=2)
@given(
    documents=st.lists(DOCUMENT, min_size=4, max_size=9, unique_by=lambda d: d.title),
    cuts=st.lists(st.integers(1, 8), max_size=3, unique=True),
    added=st.integers(0, 2),
)
def test_a_join_equals_one_build_of_all_documents_with_lucene(documents, cuts, added, tokens):
    ends = sorted({*(cut for cut in cuts if cut < len(documents)), len(documents)})
    shards = [documents[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    # No removed or duplicate documents, which count in Lucene's statistics.
    check_joined(shards, [(added, False)] * 4, tokens, "lucene", exact=True)


@pytest.fixture
def shards(tmp_path):
    """Build two small knowledge bases, and write a corpus of another document."""
    build(
        write(tmp_path, [Document("Bird", ("Birds lay eggs.",)), Document("Seed", ("It grows.",))]),
        tmp_path / "a",
        bm25="bm25s",
        progress=False,
    )
    build(write(tmp_path, [Document("tit", ("A tit sings.",))]), tmp_path / "b", bm25="bm25s")
    write(tmp_path, [Document("Nest", ("A nest holds eggs.",))])
    return [tmp_path / "a", tmp_path / "b"]


def titles(kb):
    with KnowledgeBase.open(kb) as opened:
        return list(opened.titles())


def test_changes_of_a_member_are_visible_when_reopened(shards, tmp_path, tokens):
    join(shards, tmp_path / "all")
    with KnowledgeBase.open(tmp_path / "all") as old:
        digest = old.digest
        before = view(old, tokens, search=False)  # this reader opens its index later
        add(tmp_path / "corpus.jsonl", shards[0], progress=False)
        remove("Bird", shards[0], progress=False)
        assert not old.current
        with KnowledgeBase.open(tmp_path / "all") as new:
            assert new.current
            assert new.digest != digest
            assert list(new.titles()) == ["Seed", "Nest", "tit"]
            assert new.rows().tolist() == [1, 2, 3]
            assert isinstance(new.title_trie(tokens), RenumberedTrie)
            assert [hit.title for hit in new.search(["eggs"], 9)[0]] == ["Nest"]
            compact(shards[0], progress=False)
            assert view(old, tokens, search=False) == before
            assert [hit.title for hit in old.search(["eggs sings"], 9)[0]] == ["tit", "Bird"]
            assert list(new.titles()) == ["Seed", "Nest", "tit"]
    with KnowledgeBase.open(tmp_path / "all") as last:
        assert last.rows().tolist() == [0, 1, 2]
        assert isinstance(last.title_trie(tokens), TokenTrie)
    assert verify(tmp_path / "all") == []


@pytest.mark.parametrize("kept", [True, False])
def test_readers_of_two_versions_share_the_folder_of_the_trie(
    kept, shards, tmp_path, tokens, monkeypatch
):
    """A reader opens the trie while another replaces it by that of newer bases."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    join(shards, tmp_path / "all")
    add(tmp_path / "corpus.jsonl", shards[0], progress=False)
    with KnowledgeBase.open(tmp_path / "all") as old:
        if kept:
            with KnowledgeBase.open(tmp_path / "all") as same:
                same.title_trie(tokens)
        compact(shards[0], progress=False)
        open_trie, met = TokenTrie.open, []

        def meet(place):
            if not met:
                met.append(place)
                with KnowledgeBase.open(tmp_path / "all") as new:
                    new.title_trie(tokens)
            return open_trie(place)

        monkeypatch.setattr(TokenTrie, "open", meet)
        trie = old.title_trie(tokens)
        assert met
        for title in old.titles():
            assert trie.rows(trie.walk(tokens.encode(title))).tolist() == [old.row(title)]


def test_a_join_may_be_moved_with_its_members(shards, tmp_path, tokens):
    (tmp_path / "tree").mkdir()
    for shard in shards:
        shard.rename(tmp_path / "tree" / shard.name)
    join([tmp_path / "tree" / shard.name for shard in shards], tmp_path / "tree" / "all")
    with KnowledgeBase.open(tmp_path / "tree" / "all") as kb:
        digest = kb.digest
        kb.title_trie(tokens)
    (tmp_path / "tree").rename(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "all")
    for place in (tmp_path / "elsewhere" / "all", tmp_path / "link"):
        with KnowledgeBase.open(place) as kb:
            assert (kb.digest, list(kb.titles())) == (digest, ["Bird", "Seed", "tit"])
        assert verify(place) == []
        assert info(place).tries == [tokens.fingerprint]


def test_duplicates_are_an_error_that_names_them(shards, tmp_path):
    add(write(tmp_path, [Document("Seed", ("x",))]), shards[1], progress=False)
    message = rf"all: the title 'Seed' is in several members: {shards[0]}, {shards[1]}\. .*remove"
    with pytest.raises(AdmiralError, match=message):
        join(shards, tmp_path / "all")
    assert not (tmp_path / "all").exists()
    assert join(shards, tmp_path / "all", on_duplicate="skip").hidden == 1
    assert titles(tmp_path / "all") == ["Bird", "Seed", "tit"]


def test_duplicates_added_after_the_join(shards, tmp_path):
    strict, lenient = tmp_path / "strict", tmp_path / "lenient"
    join(shards, strict)
    join(shards, lenient, on_duplicate="skip")
    add(write(tmp_path, [Document("tit", ("x",)), Document("Bat", ())]), shards[0], progress=False)
    for _ in range(2):
        with pytest.raises(AdmiralError, match=r"the title 'tit' is in several members: .*skip"):
            KnowledgeBase.open(strict)
    (problem,) = verify(strict)
    assert "the title 'tit' is in several members" in problem
    assert titles(lenient) == ["Bird", "Seed", "tit", "Bat"]
    assert verify(lenient) == []
    remove("tit", shards[0], progress=False)
    assert titles(strict) == ["Bird", "Seed", "Bat", "tit"] == titles(lenient)


@pytest.mark.parametrize("sizes", [(1, 9), (9, 1), (5, 5), (1, 2, 20), (20, 3, 2)])
def test_duplicates_are_found_by_reading_and_by_lookup(sizes, tmp_path):
    """Titles of a much larger member are looked up, those of others are read."""
    members = []
    for number, size in enumerate(sizes):
        documents = [Document(f"Title {n}", (f"{number}",)) for n in range(size)]
        members.append(tmp_path / f"kb{number}")
        build(write(tmp_path, documents), members[-1], bm25="none", progress=False)
    report = join(members, tmp_path / "all", on_duplicate="skip")
    assert report.hidden == sum(sizes) - max(sizes)
    with KnowledgeBase.open(tmp_path / "all") as kb:
        for number in range(max(sizes)):
            first = next(at for at, size in enumerate(sizes) if number < size)
            assert kb.document(f"Title {number}").sentences == (f"{first}",)


def test_a_read_only_join_uses_the_user_cache(shards, tmp_path, tokens, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kb = tmp_path / "all"
    join(shards, kb)
    (kb / "duplicates.json").unlink()
    monkeypatch.setattr("os.access", lambda path, mode: path != kb)
    with KnowledgeBase.open(kb) as opened:
        opened.title_trie(tokens)
    assert [path.name for path in kb.iterdir()] == ["manifest.json"]
    kept = {path.name for path in (tmp_path / "cache" / "admiral").iterdir()}
    assert kept == {"joins", "tries"}
    with monkeypatch.context() as patch:
        patch.setattr("admiral.kb.joined.find_duplicates", None)
        assert titles(kb) == ["Bird", "Seed", "tit"]
    # The cache of newer versions replaces that of older ones.
    add(tmp_path / "corpus.jsonl", shards[0], progress=False)
    assert titles(kb) == ["Bird", "Seed", "Nest", "tit"]
    assert len(list((tmp_path / "cache" / "admiral" / "joins").iterdir())) == 1


def test_invalid_arguments(shards, tmp_path, birds):
    kb = tmp_path / "all"
    join(shards, kb)
    build(birds, tmp_path / "plain", bm25="none", progress=False)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(shards[0])
    a, b = shards
    cases = [
        ("no knowledge base given", lambda: join([], tmp_path / "new")),
        (
            "on_duplicate='merge': unknown",
            lambda: join([a], tmp_path / "new", on_duplicate="merge"),
        ),
        ("typo: no such knowledge base", lambda: join([a, tmp_path / "typo"], tmp_path / "new")),
        ("not a knowledge base", lambda: join([tmp_path / "folder"], tmp_path / "new")),
        (r"link: is named twice \(as .*a\)", lambda: join([a, b, tmp_path / "link"], kb)),
        (f"joins others itself. Name its members instead: {a} {b}", lambda: join([kb, a], b)),
        ("its BM25 index is 'none', that of", lambda: join([a, tmp_path / "plain"], kb / "x")),
        ("would contain its member", lambda: join([a, b], a, overwrite=True)),
        ("would contain its member", lambda: join([a, b], a / "all")),
        ("would contain its member", lambda: join([a, b], tmp_path)),
        ("exists already. Give --overwrite", lambda: join([a, b], kb)),
        ("something else is there", lambda: join([a, b], birds)),
        ("joins other knowledge bases and holds no", lambda: add(birds, kb, progress=False)),
        ("joins other knowledge bases and holds no", lambda: remove("Bird", kb, progress=False)),
        ("joins other knowledge bases and holds no", lambda: compact(kb, progress=False)),
    ]
    for message, request in cases:
        with pytest.raises(AdmiralError, match=message):
            request()
    assert titles(kb) == ["Bird", "Seed", "tit"]
    assert not (tmp_path / "new").exists()
    join([b, a], kb, overwrite=True)
    assert titles(kb) == ["tit", "Bird", "Seed"]
    for single in (b, str(b)):
        assert join(single, tmp_path / "one", overwrite=True).members == 1
        assert titles(tmp_path / "one") == titles(b)


def test_members_that_are_missing_replaced_or_damaged(shards, tmp_path, birds):
    a, b = shards
    kb = tmp_path / "all"
    join(shards, kb)
    remedy = rf"all: cannot be used without all of its members\. {b}.*admiral join"

    def refused(message):
        for use in (KnowledgeBase.open, info):
            with pytest.raises(AdmiralError, match=message):
                use(kb)

    b.rename(tmp_path / "moved")
    refused(remedy)
    (problem,) = verify(kb)
    assert problem.startswith(f"{b}: no such knowledge base")
    shutil.copytree(kb, b)  # put a joined knowledge base in its place
    write_join(b, JoinManifest(("../a",), "error"))
    refused(remedy + "|joins other knowledge bases")
    shutil.rmtree(b)
    build(birds, b, bm25="none", progress=False)
    refused(rf"{b}: its BM25 index is 'none', that of {a} is 'bm25s'")
    shutil.rmtree(b)
    (tmp_path / "moved").rename(b)
    documents = b / "documents" / "documents.arrow"
    whole = documents.read_bytes()
    documents.write_bytes(whole[:-1])
    refused(remedy)
    documents.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    assert any(str(documents) in problem for problem in verify(kb))
    documents.write_bytes(whole)
    assert verify(kb) == []
    with KnowledgeBase.open(kb) as opened:
        b.rename(tmp_path / "moved")
        with pytest.raises(AdmiralError, match=rf"{b}: was replaced by another build"):
            opened.search(["eggs"], 1)
        with pytest.raises(AdmiralError, match=remedy):
            _ = opened.current


def test_a_damaged_join(shards, tmp_path):
    kb = tmp_path / "all"
    join(shards, kb)
    manifest = kb / "manifest.json"
    whole = manifest.read_bytes()
    value = json.loads(whole)
    changed = [
        {**value, "members": ["../b"]},
        {**value, "on_duplicate": "skip"},
        {**value, "members": "../b"},
        {**value, "members": 3},
        {key: value[key] for key in value if key != "members"},
    ]
    for other in changed:
        manifest.write_text(json.dumps(other))
        with pytest.raises(AdmiralError, match=r"manifest\.json: (changed|damaged).*admiral join"):
            KnowledgeBase.open(kb)
    manifest.write_bytes(whole)
    (kb / "notes.txt").write_text("x")
    assert verify(kb) == [f"{kb / 'notes.txt'}: does not belong there"]
    add(write(tmp_path, [Document("tit", ("It flies.",))]), shards[0], progress=False)
    foreign, twice = verify(kb)
    assert foreign.startswith(str(kb / "notes.txt"))
    assert "'tit' is in several members" in twice
    remove("tit", shards[0], progress=False)
    (kb / "notes.txt").unlink()
    (kb / "tries" / "f").mkdir(parents=True)
    (problem,) = verify(kb)
    assert "not a complete trie" in problem


def test_a_join_has_the_backend_of_its_members(shards, tmp_path):
    join(shards, tmp_path / "all")
    KnowledgeBase.open(tmp_path / "all", bm25="bm25s").close()
    with pytest.raises(AdmiralError, match="holds a BM25 index of 'bm25s', not of 'lucene'"):
        KnowledgeBase.open(tmp_path / "all", bm25="lucene")
