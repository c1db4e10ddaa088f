"""The provenance that is recorded with results."""

from admiral import RetrievalConfig
from admiral.kb import build
from admiral.models.checkpoint import locate_checkpoint
from admiral.retrieval.provenance import identity, recorded_settings


def test_only_settings_that_decide_results_are_recorded():
    settings = recorded_settings(RetrievalConfig(beam_size=7, threads=3))
    assert settings["beam_size"] == 7
    assert settings["kb"] == "demo"
    assert settings["version"]
    assert "threads" not in settings


def test_names_of_bundled_ones_win_over_directories(tmp_path, monkeypatch):
    bundled = locate_checkpoint("mini")
    for name in ("demo", "mini"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert [identity(name) for name in ("demo", "mini")] == ["demo", "mini"]
    assert locate_checkpoint("mini") == bundled


def test_identity_follows_the_content(tmp_path):
    assert identity("mini") == "mini"
    model = tmp_path / "model"
    model.mkdir()
    seen = {identity(str(model))}
    for name in ("config.json", "a.safetensors"):
        for content in ("1", "2"):
            (model / name).write_text(content)
            seen.add(identity(str(model)))
    assert len(seen) == 5
    assert all(text.startswith("model") for text in seen)


def test_identity_of_a_knowledge_base_follows_its_documents(tmp_path):
    kb, corpus, seen = tmp_path / "kb", tmp_path / "corpus.jsonl", []
    for text in ("1", "2", "1"):
        corpus.write_text(f'{{"title": "A", "text": "{text}"}}\n')
        build(corpus, kb, bm25="none", overwrite=True, progress=False)
        seen.append(identity(str(kb)))
    assert seen[0] == seen[2] != seen[1]
    assert seen[0].startswith("kb (")


def test_files_in_settings_are_identified_by_their_content(tmp_path):
    path = tmp_path / "weights.json"
    config = RetrievalConfig(ranking_weights=str(path))
    path.write_text("1")
    before = recorded_settings(config)
    path.write_text("2")
    assert recorded_settings(config) != before
    assert before["ranking_weights"].startswith("weights.json (")
    assert before["antonyms"] == ""


def test_a_verifier_is_identified_by_its_weights_and_fits(tmp_path):
    config = RetrievalConfig(verifier=str(tmp_path))
    seen = set()
    names = ("config.json", "model.safetensors", "calibration.json")
    for name in names:
        (tmp_path / name).write_text("1")
        seen.add(recorded_settings(config)["verifier"])
    assert len(seen) == len(names)
    assert all(text.startswith(f"{tmp_path.name} (") for text in seen)
