"""Claims with sentences for the encoder, made of reranking samples."""

from __future__ import annotations

from click.testing import CliRunner

from training.cited_pages import read_cited_passages
from training.data.records import write_records
from training.data.samples import RerankDocument, RerankSample, RetrieveSample
from training.sentence_pairs import main

EVIDENCE = (("Emmy", "A comedian hosted the awards."),)
SAMPLE = RerankSample(
    "The host tells jokes.",
    EVIDENCE,
    (
        RerankDocument("Emmy", (EVIDENCE[0][1], "They are given each year."), (0,)),
        RerankDocument("Comedian", ("A comedian tells jokes.", " "), (0,)),
    ),
)


def run(tmp_path, samples, *options):
    path, out = tmp_path / "samples.jsonl", tmp_path / "pairs.jsonl"
    write_records(path, samples)
    return CliRunner().invoke(main, [str(path), str(out), *options]), out


def test_gold_sentences_that_are_not_in_the_evidence_are_the_positives(tmp_path):
    result, out = run(tmp_path, [RetrieveSample("Other.", (), 0, ("Emmy",)), SAMPLE])
    assert result.exit_code == 0, result.output
    (item,) = read_cited_passages(out)
    assert item.query == "The host tells jokes. A comedian hosted the awards."
    assert item.positives == (("", "Comedian: A comedian tells jokes."),)
    assert item.negatives == (("", "Emmy: They are given each year."),)


def test_a_file_without_reranking_samples_is_an_error(tmp_path):
    result, out = run(tmp_path, [RetrieveSample("Other.", (), 0, ("Emmy",))])
    assert result.exit_code == 1
    assert "samples.jsonl: holds no reranking samples" in result.output
    assert not out.exists()
