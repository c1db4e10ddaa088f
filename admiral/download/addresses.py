"""Official addresses of the data sets, and the pages that document them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to download."""

    name: str
    url: str
    size: int | None = None  # published length in bytes; None if it is not published
    md5: str | None = None  # published MD5 checksum in hexadecimal; None if it is not published


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files of a data set."""

    page: str  # page on which the authors publish the addresses
    files: tuple[RemoteFile, ...]
    next_step: str  # what to do with the files; ``{out}`` stands for their folder


_FEVER = "https://fever.ai/download/fever"
# FEVEROUS's page gives the DOI of this record, 10.5281/zenodo.4911508; Zenodo has the checksums.
_FEVEROUS = "https://zenodo.org/records/4911508/files"
# Repository of HoVer's authors, from which their script downloads everything but the corpus.
_HOVER = "https://raw.githubusercontent.com/hover-nlp/hover/main/data/hover"
_ABSTRACTS = "enwiki-20171001-pages-meta-current-withlinks-abstracts"

DATA_SETS = {
    "fever": DataSet(
        "https://fever.ai/dataset/fever.html",
        (
            RemoteFile("train.jsonl", f"{_FEVER}/train.jsonl"),
            RemoteFile("shared_task_dev.jsonl", f"{_FEVER}/shared_task_dev.jsonl"),
            RemoteFile("shared_task_test.jsonl", f"{_FEVER}/shared_task_test.jsonl"),
            # The adversarial claims of FEVER 2.0: https://fever.ai/dataset/adversarial.html
            RemoteFile(
                "fever2-fixers-dev.jsonl",
                "https://fever.ai/download/fever2.0/fever2-fixers-dev.jsonl",
            ),
            RemoteFile("wiki-pages.zip", f"{_FEVER}/wiki-pages.zip"),
        ),
        "Unpack wiki-pages.zip, then: admiral index {out}/wiki-pages --kb KB",
    ),
    "hover": DataSet(
        "https://github.com/hover-nlp/hover",
        tuple(
            RemoteFile(name, f"{_HOVER}/{name}")
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
            RemoteFile(
                "train.jsonl",
                f"{_FEVEROUS}/train.jsonl",
                175_493_294,
                "d8d4634760dad714b4cc30e43d25e589",
            ),
            RemoteFile(
                "dev.jsonl", f"{_FEVEROUS}/dev.jsonl", md5="56150713a60ecf3ea0f32f42561e1082"
            ),
            RemoteFile(
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
            RemoteFile(
                f"{_ABSTRACTS}.tar.bz2",
                f"https://nlp.stanford.edu/projects/hotpotqa/{_ABSTRACTS}.tar.bz2",
                1_553_565_403,
                "01edf64cd120ecc03a2745352779514c",
            ),
        ),
        f"Unpack it with tar -xjf, then: admiral index {{out}}/{_ABSTRACTS} --kb KB",
    ),
}
