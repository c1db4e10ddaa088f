"""The official addresses of the data sets, and the pages that document them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A file to fetch.

    Attributes
    ----------
    name
        What it is called on disk.
    bytes, md5
        As published; None where they are not.
    """

    name: str
    url: str
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files of a data set.

    Attributes
    ----------
    page
        Where its authors give these addresses.
    after
        What is done with them.
    """

    page: str
    files: tuple[Source, ...]
    after: str


_FEVER = "https://fever.ai/download/fever"
# FEVEROUS's page names this record by its DOI, 10.5281/zenodo.4911508; its checksums are Zenodo's.
_FEVEROUS = "https://zenodo.org/records/4911508/files"
# The repository of HoVer's authors, where its download script puts everything but the corpus.
_HOVER = "https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover"
_ABSTRACTS = "enwiki-20171001-pages-meta-current-withlinks-abstracts"

DATA_SETS = {
    "fever": DataSet(
        "https://fever.ai/dataset/fever.html",
        (
            Source("train.jsonl", f"{_FEVER}/train.jsonl"),
            Source("shared_task_dev.jsonl", f"{_FEVER}/shared_task_dev.jsonl"),
            Source("shared_task_test.jsonl", f"{_FEVER}/shared_task_test.jsonl"),
            # The adversarial claims of FEVER 2.0: https://fever.ai/dataset/adversarial.html
            Source(
                "fever2-fixers-dev.jsonl",
                "https://fever.ai/download/fever2.0/fever2-fixers-dev.jsonl",
            ),
            Source("wiki-pages.zip", f"{_FEVER}/wiki-pages.zip"),
        ),
        "Unpack wiki-pages.zip, then: admiral index {out}/wiki-pages --kb KB",
    ),
    "hover": DataSet(
        "https://github.com/hover-nlp/hover",
        tuple(
            Source(name, f"{_HOVER}/{name}")
            for name in (
                "hover_train_release_v1.1.json",
                "hover_dev_release_v1.1.json",
                "hover_test_release_v1.1.json",
            )
        ),
        "The corpus of these claims is: admiral download hotpotqa-abstracts",
    ),
    "feverous": DataSet(
        "https://fever.ai/dataset/feverous.html",
        (
            Source(
                "train.jsonl",
                f"{_FEVEROUS}/train.jsonl",
                175_493_294,
                "d8d4634760dad714b4cc30e43d25e589",
            ),
            Source("dev.jsonl", f"{_FEVEROUS}/dev.jsonl", md5="56150713a60ecf3ea0f32f42561e1082"),
            Source(
                "feverous-wiki-pages-db.zip",
                f"{_FEVEROUS}/feverous-wiki-pages-db.zip",
                md5="b01271df477efdfca99441c7dc6fe859",
            ),
        ),
        "Unpack feverous-wiki-pages-db.zip, then: admiral index {out}/feverous_wikiv1.db --kb KB",
    ),
    "hotpotqa-abstracts": DataSet(
        "https://hotpotqa.github.io/wiki-readme.html",
        (
            Source(
                f"{_ABSTRACTS}.tar.bz2",
                f"https://nlp.stanford.edu/projects/hotpotqa/{_ABSTRACTS}.tar.bz2",
                1_553_565_403,
                "01edf64cd120ecc03a2745352779514c",
            ),
        ),
        f"Unpack it with tar -xjf, then: admiral index {{out}}/{_ABSTRACTS} --kb KB",
    ),
}
