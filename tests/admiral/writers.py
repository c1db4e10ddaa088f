"""Every kind of writer as a small job, for tests that kill it: what it begins with, does, leaves.

The functions run in processes that know this module by its name.
"""

import asyncio
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import trafilatura  # noqa: F401 - which takes a second, and is otherwise imported for each page

from admiral.download.fetch import RemoteFile, fetch
from admiral.download.page_fetch import FetchLimits, PageFetcher
from admiral.download.source_fetch import FetchedPages, WantedSource, fetch_sources
from admiral.io.limited_reading import FileLimits
from admiral.io.result_writer import ResumableWriter
from admiral.kb import KnowledgeBase, add, build, verify
from admiral.library import Library, Source, add_sources, build_library
from admiral.library.readers import SourceFiles
from admiral.records import Claim
from tests.admiral.results import result
from tests.training.tiny import lines, prepare, weights
from training.multitask.multitask_program import train
from training.multitask.multitask_settings import TrainConfig
from trie.safe_tokenizer import TASKS

FEW, MANY, PAGES = 5, 60, 12
IN_PROCESS = FileLimits(seconds=0)  # another process would have to import the readers each time
_TEXT = "The river {0} {1} flows through the north for many miles. {0} {1} is long. "


@dataclass
class Place:
    """Where a writer works, and the address of a site that has files and pages for it."""

    folder: Path
    url: str


class Index:
    """`admiral index --overwrite`."""

    def prepare(self, place):
        build(_corpus(place, "Old", FEW), place.folder / "kb", bm25="bm25s", progress=False)

    def write(self, place):
        options = {"bm25": "bm25s", "overwrite": True, "progress": False}
        build(_corpus(place, "New", MANY), place.folder / "kb", **options)

    def read(self, place):
        assert verify(place.folder / "kb") == []
        with KnowledgeBase.open(place.folder / "kb") as opened:
            return {document.title: document.sentences for document in opened.documents()}


class Update(Index):
    """`admiral add`."""

    def write(self, place):
        corpus = _corpus(place, "New", MANY)
        add(corpus, place.folder / "kb", on_duplicate="replace", progress=False)


class LibraryBuild:
    """`admiral library build --overwrite`."""

    def prepare(self, place):
        build_library(place.folder / "library", _sources("old", FEW))

    def write(self, place):
        build_library(place.folder / "library", _sources("new", MANY), overwrite=True)

    def read(self, place):
        assert verify(place.folder / "library") == []
        with Library.open(place.folder / "library") as opened:
            return {source.url: source.text for source in opened.sources()}


class LibraryAdd(LibraryBuild):
    """`admiral library add`."""

    def write(self, place):
        add_sources(place.folder / "library", _sources("new", MANY))


class Fetch:
    """`admiral library fetch`, as far as the archives of its pages."""

    def prepare(self, place):
        pass

    def write(self, place):
        known = self.read(place)
        urls = [f"{place.url}/page-{number}" for number in range(PAGES)]

        async def run():
            limits = FetchLimits(30, 1, 0)
            async with PageFetcher(limits, [place.url.removeprefix("http://")]) as fetcher:
                with FetchedPages(place.folder / "pages") as pages:
                    missing = [WantedSource(url) for url in urls if url not in known]
                    await fetch_sources(missing, fetcher, pages)

        asyncio.run(run())

    def read(self, place):
        with FetchedPages(place.folder / "pages") as pages:
            archives = pages.not_added()
            sources = SourceFiles(archives, skip_bad=True, limits=IN_PROCESS) if archives else ()
            return {source.url: source.text for source in sources}


class Download:
    """`admiral download`."""

    def prepare(self, place):
        pass

    def write(self, place):
        fetch(RemoteFile("file", f"{place.url}/file"), place.folder / "file", timeout=30)

    def read(self, place):
        return _bytes(place.folder / "file")


class Results:
    """`admiral retrieve --output`."""

    def prepare(self, place):
        pass

    def write(self, place):
        claims = [Claim(str(number), f"Claim {number}") for number in range(200)]
        with ResumableWriter(place.folder / "results.jsonl", {"kb": "demo"}) as writer:
            for claim in writer.pending(claims):
                writer.write(result(claim).to_json())
            writer.finish()

    def read(self, place):
        return _bytes(place.folder / "results.jsonl")


class Training:
    """A training program that saves its state at every other step."""

    def prepare(self, place):
        config = replace(prepare(place.folder), save_every=2)
        (place.folder / "run.json").write_text(json.dumps(asdict(config)))

    def write(self, place):
        train(self._config(place), TASKS)

    def read(self, place):
        config = self._config(place)
        exported = {name: value.tolist() for name, value in weights(config).items()}
        return (lines(config), exported) if exported else None

    def _config(self, place):
        return TrainConfig(**json.loads((place.folder / "run.json").read_text()))


WRITERS = {
    "index": Index(),
    "add": Update(),
    "library build": LibraryBuild(),
    "library add": LibraryAdd(),
    "library fetch": Fetch(),
    "download": Download(),
    "retrieve": Results(),
    "training": Training(),
}


def _corpus(place, name, count):
    path = place.folder / f"{name}.jsonl"
    records = [{"title": f"{name} {n}", "text": _TEXT.format(name, n)} for n in range(count)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _sources(name, count):
    for number in range(count):
        yield Source(f"https://{name}.example/{number}", name, _TEXT.format(name, number))


def _bytes(path):
    return path.read_bytes() if path.exists() else None
