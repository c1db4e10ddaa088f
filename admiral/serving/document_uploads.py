"""Knowledge bases of files that users upload, with their routes.

Files are read as by `admiral index`, in the same limited worker, and are deleted once they are
read. Each knowledge base has a folder whose name the service chooses.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, UploadFile
from pydantic import Field

from admiral.errors import AdmiralError
from admiral.graph import build_graph
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.kb.corpus.corpora import Corpora
from admiral.kb.corpus.records import Record
from admiral.kb.writing import GRAPH_DOCUMENTS, build_records
from admiral.serving.jobs import Job
from admiral.serving.problems import ProblemError, part
from admiral.serving.service import Service

logger = logging.getLogger(__name__)

#: Where files are sent to, and the length of an upload and of its text.
UPLOADS, UPLOAD_BYTES = "/v1/uploads", 200_000_000
# Files of an upload, as many as Starlette reads; uploaded knowledge bases.
_FILES, _MOST = 1_000, 20
_LONGEST_NAME = 60


class Upload(Job):
    """The upload of files, and the knowledge base that is made of them."""

    kb: str
    stage: Literal["reading", "indexing", "graph", "opening"] = "reading"
    files: int = 0
    documents: int = 0
    left_out: Sequence[dict[str, str]] = ()
    folder: Path = Field(exclude=True)

    @property
    def received(self) -> Path:
        """The folder of the files, while they are needed."""
        return self.folder / "files"


class _UploadedFiles(Corpora):
    """The files of an upload, which tell how far they are read."""

    def __init__(self, upload: Upload, limits: FileLimits) -> None:
        super().__init__(upload.received, "files", False, limits=limits, reported=True)
        self._upload = upload

    def records(self, progress: bool) -> Iterator[Record]:
        upload, text, seen = self._upload, 0, set()
        for record in super().records(progress):
            upload.check()
            document = record.document
            text += sum(map(len, document.sentences))
            if text > UPLOAD_BYTES:  # such as of an archive
                raise AdmiralError(
                    f"the files have more than {UPLOAD_BYTES:,} characters of text. Upload fewer"
                )
            seen.add(record.file.path)
            upload.done, upload.documents = len(seen), upload.documents + 1
            # The name of the file alone: it is not kept.
            source = document.source.removeprefix(f"{upload.received}/")
            yield replace(record, document=replace(document, source=source))
        upload.left_out = [
            {"file": report.path.name, "reason": report.skipped}
            for report in self.reports.values()
            if report.skipped
        ]
        if not upload.documents:
            raise AdmiralError("none of the files has a text that can be read")
        upload.done, upload.stage = upload.files, "indexing"


class Uploads:
    """Make knowledge bases of files, and open them in a service.

    `folder`: has a folder for each; those that are there already are opened. `limits`: of reading
    one file.
    """

    def __init__(self, service: Service, folder: Path, limits: FileLimits = DEFAULT_LIMITS) -> None:
        self._service, self._folder, self._limits = service, folder.absolute(), limits
        self.jobs, self._choosing = service.jobs, threading.Lock()
        for each in sorted(self._folder.glob("*/")):
            upload = Upload(kb=_unused(each.name, service.queues), folder=each)
            self.jobs.table[upload.kb] = upload
            try:
                service.add(upload.kb, each / "kb")
                upload.state = "complete"
            except AdmiralError as error:
                logger.warning("%s: cannot be opened: %s", each, error)
                upload.state, upload.problem = "failed", str(error)

    def submit(self, name: str, files: list[UploadFile]) -> Upload:
        """Return the upload of files, which waits for its turn.

        Raises ProblemError if there are too many knowledge bases, or too many jobs wait; OSError if
        the files cannot be stored.
        """
        with self._choosing:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folders = [each.name for each in self._folder.iterdir()]
            if len(folders) >= _MOST:
                detail = f"there are {_MOST} uploaded knowledge bases"
                raise ProblemError(409, detail, "Delete one of them", "name")
            taken = {*self._service.queues, *self.jobs.table, *folders}
            folder = self._folder / _unused(_kb_name(name), taken)
            folder.mkdir(mode=0o700)
        upload = Upload(kb=folder.name, folder=folder, files=len(files))
        forget = partial(self._forget, upload)
        try:
            upload.received.mkdir()
            names: set[str] = set()
            for file in files:
                names.add(own := _unused(_file_name(file.filename or ""), names))
                with (upload.received / own).open("xb") as stored:
                    shutil.copyfileobj(file.file, stored)
            self.jobs.submit(upload.kb, upload, partial(self._build, upload), forget)
        except BaseException:
            forget()
            raise
        return upload

    def delete(self, name: str) -> None:
        """Stop an upload, or complete the claims on its knowledge base, and delete its folder."""
        upload = self.jobs.get(Upload, name)
        if self.jobs.stop(upload):  # otherwise the job forgets it
            self._forget(upload)

    def _build(self, upload: Upload) -> None:
        kb, bm25 = upload.folder / "kb", self._service.queue(None).system.config.bm25
        settings = {
            "passages": True,
            "on_duplicate": "auto",
            "bm25": "bm25s" if bm25 == "auto" else bm25,  # without Java, unless it was asked for
        }
        try:
            files = _UploadedFiles(upload, self._limits)
            report = build_records(files, kb, settings, overwrite=False, progress=False)
            upload.documents = report.documents
            if upload.documents >= GRAPH_DOCUMENTS:
                upload.check()
                upload.stage = "graph"
                build_graph(kb, progress=False)
            upload.check()
            upload.stage = "opening"
            self._service.add(upload.kb, kb)
        except AdmiralError as error:  # where the files lie is nobody else's business
            raise AdmiralError(str(error).replace(str(upload.received), "the upload")) from error
        finally:
            shutil.rmtree(upload.received, ignore_errors=True)

    def _forget(self, upload: Upload) -> None:
        self._service.remove(upload.kb)
        shutil.rmtree(upload.folder, ignore_errors=True)
        self.jobs.table.pop(upload.kb, None)


def _kb_name(given: str) -> str:
    """Return a name for a folder and for addresses, of letters, digits and hyphens."""
    words = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", given))
    return words[:_LONGEST_NAME].strip("-") or "documents"


def _file_name(given: str) -> str:
    """Return the name of a file without its folders, hidden marks and unprintable characters."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    shown = "".join(each if each.isprintable() else " " for each in last)
    path = PurePosixPath(shown.strip(". ") or "file")
    return path.stem[:_LONGEST_NAME] + path.suffix[:_LONGEST_NAME]


def _unused(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number if it is taken."""
    path = PurePosixPath(name)
    numbered = (f"{path.stem}-{number}{path.suffix}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


_REMEDY = "Start it with a folder: `admiral serve --uploads DIR`"
_uploads = part("uploads", "this service takes no files", _REMEDY)
_Opened = Annotated[Uploads, Depends(_uploads)]

router = APIRouter(prefix=UPLOADS, tags=["documents"])


@router.post("", status_code=202)
def upload_files(
    uploads: _Opened, files: list[UploadFile], name: Annotated[str, Form()] = ""
) -> Upload:
    """Begin to make a knowledge base of files, named after `name`."""
    named = [file for file in files if file.filename]  # browsers send one without, for none
    if not named:
        raise ProblemError(422, "there is no file", "Send files as multipart/form-data", "files")
    return uploads.submit(name or PurePosixPath(named[0].filename or "").stem, named)


@router.get("")
def list_uploads(uploads: _Opened) -> dict[str, list[Upload] | int]:
    """Return all uploads, also of earlier runs of the service, and the limits of one."""
    known = list(uploads.jobs.all(Upload).values())
    return {"uploads": known, "most_files": _FILES, "most_bytes": UPLOAD_BYTES}


@router.get("/{kb}")
def upload_state(kb: str, uploads: _Opened) -> Upload:
    """Return how far an upload is."""
    return uploads.jobs.get(Upload, kb)


@router.delete("/{kb}", status_code=204)
def delete_upload(kb: str, uploads: _Opened) -> None:
    """Stop an upload, or delete the knowledge base that was made of it."""
    uploads.delete(kb)
