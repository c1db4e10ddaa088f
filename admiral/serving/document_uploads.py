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
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from admiral.errors import AdmiralError
from admiral.graph import build_graph
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.kb.corpus.corpora import Corpora
from admiral.kb.corpus.readers import Record
from admiral.kb.store import is_knowledge_base
from admiral.kb.writing import GRAPH_DOCUMENTS, build_records
from admiral.serving.claim_queue import QueueFullError
from admiral.serving.jobs import Job, JobThread, State
from admiral.serving.request_models import ProblemError
from admiral.serving.service import Service

logger = logging.getLogger(__name__)

#: Where files are sent to.
UPLOADS = "/v1/uploads"
#: Uploads that may wait, and as many that may arrive at a time; files of an upload; uploaded
#: knowledge bases.
WAITING, FILES, MOST = 4, 1_000, 20
_LONGEST_NAME = 60
Stage = Literal["reading", "indexing", "graph", "opening"]


@dataclass(slots=True, eq=False, kw_only=True)
class Upload(Job):
    """The upload of files, and the knowledge base that is made of them; `done` counts files."""

    name: str
    folder: Path
    files: int = 0
    stage: Stage = "reading"
    documents: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)  # files, and why

    @property
    def kb(self) -> Path:
        """The directory of the knowledge base."""
        return self.folder / "kb"

    @property
    def received(self) -> Path:
        """The folder of the files, while they are needed."""
        return self.folder / "files"


class _UploadedFiles(Corpora):
    """The files of an upload, which tell how far they are read and have no more text than bytes."""

    def __init__(self, upload: Upload, limits: FileLimits, most: int) -> None:
        super().__init__(upload.received, "files", False, limits=limits, reported=True)
        self._upload, self._most = upload, most

    def records(self, progress: bool) -> Iterator[Record]:
        upload, text, seen = self._upload, 0, set()
        folder = f"{upload.received}/"
        for record in super().records(progress):
            upload.check()
            document = record.document
            text += sum(map(len, document.sentences))
            if text > self._most:
                raise AdmiralError(
                    f"the files have more than {self._most:,} characters of text. Upload fewer"
                )
            seen.add(record.path)
            upload.done, upload.documents = len(seen), upload.documents + 1
            # The name of the file alone: it is not kept.
            yield replace(
                record, document=replace(document, source=document.source.removeprefix(folder))
            )
        upload.left_out = [
            (Path(report.path).name, report.skipped)
            for report in self.reports.merged()
            if report.skipped
        ]
        if not upload.documents:
            raise AdmiralError("none of the files has a text that can be read")
        upload.done, upload.stage = upload.files, "indexing"


class Uploads:
    """Make knowledge bases of files, and open them in a service.

    `folder`: has a folder for each; those that are there already are opened. `limits`: of reading
    one file. Raises AdmiralError if the folder cannot be read.
    """

    def __init__(self, service: Service, folder: Path, limits: FileLimits = DEFAULT_LIMITS) -> None:
        self._service, self._folder, self._limits = service, folder.absolute(), limits
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()
        self._receiving = threading.BoundedSemaphore(WAITING)
        try:
            found = sorted(each for each in self._folder.iterdir() if each.is_dir())
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise AdmiralError(
                f"{folder}: cannot be read ({error.strerror}). Give another folder by --uploads, "
                "or --no-uploads"
            ) from error
        for each in found:
            self._open(each)
        self._jobs = JobThread("admiral-uploads", WAITING)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Hold a place for files that arrive; QueueFullError if there is none."""
        if not self._receiving.acquire(blocking=False):
            raise QueueFullError
        try:
            yield
        finally:
            self._receiving.release()

    def submit(self, name: str, files: list[UploadFile]) -> Upload:
        """Return the upload of files, which waits for its turn.

        Raises ProblemError, QueueFullError if there are too many knowledge bases, or too many
        uploads wait; AdmiralError if the files cannot be stored.
        """
        upload = self._reserve(name)
        try:
            upload.received.mkdir()
            names: set[str] = set()
            for file in files:
                names.add(own := _unused(_file_name(file.filename or ""), names))
                with (upload.received / own).open("xb") as stored:
                    shutil.copyfileobj(file.file, stored)
            upload.files = len(names)
            self._jobs.submit(upload, self._build)
        except BaseException as error:
            self._forget(upload)
            if isinstance(error, OSError):
                raise AdmiralError(f"the files cannot be stored ({error.strerror})") from error
            raise
        return upload

    @property
    def most_bytes(self) -> int:
        """The length of the body of an upload."""
        return self._service.limits.upload_bytes

    def all(self) -> list[Upload]:
        """Return all uploads, also those that have failed."""
        with self._lock:
            return list(self._uploads.values())

    def upload(self, name: str) -> Upload:
        """Return an upload; ProblemError if there is none."""
        with self._lock:
            upload = self._uploads.get(name)
        if upload is None:
            raise ProblemError(404, "no such knowledge base was uploaded", "See GET /v1/kbs", "kb")
        return upload

    def delete(self, name: str) -> None:
        """Stop an upload, or complete the claims on its knowledge base, and delete its folder.

        Raises ProblemError if there is none.
        """
        upload = self.upload(name)
        with self._lock:
            upload.stopping.set()
            ended = upload.has_ended
        if ended:  # otherwise `_build` deletes it
            self._forget(upload)

    def close(self) -> None:
        """Stop all uploads; the knowledge bases are those of the service."""
        self._jobs.close()

    def _open(self, folder: Path) -> None:
        upload = Upload(name=_unused(folder.name, self._service.queues), folder=folder)
        self._uploads[upload.name] = upload
        try:
            if not is_knowledge_base(upload.kb):
                raise AdmiralError("the service ended before the knowledge base was complete")
            self._service.add(upload.name, upload.kb)
            upload.state = "complete"
        except AdmiralError as error:
            logger.warning("%s: cannot be opened: %s", folder, error)
            upload.state, upload.problem = "failed", str(error)

    def _reserve(self, name: str) -> Upload:
        """Return an upload with a new folder."""
        with self._lock:
            if len(self._uploads) >= MOST:
                raise ProblemError(
                    409, f"there are {MOST} uploaded knowledge bases", "Delete one of them", "name"
                )
            taken = {*self._service.queues, *self._uploads}
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                taken.update(each.name for each in self._folder.iterdir())
                own = _unused(_kb_name(name), taken)
                folder = self._folder / own
                folder.mkdir(mode=0o700)
            except OSError as error:
                raise AdmiralError(
                    f"{self._folder}: cannot be written ({error.strerror}). Give another folder to "
                    "the server by --uploads"
                ) from error
            self._uploads[own] = upload = Upload(name=own, folder=folder)
        return upload

    def _build(self, upload: Upload) -> None:
        chosen = self._service.queue(None).system.config.bm25
        settings = {"passages": True, "on_duplicate": "auto"}
        try:
            upload.check()
            report = build_records(
                _UploadedFiles(upload, self._limits, self.most_bytes),
                upload.kb,
                # Without Java, unless it was asked for.
                {**settings, "bm25": "bm25s" if chosen == "auto" else chosen},
                overwrite=False,
                progress=False,
            )
            upload.documents = report.documents
            if upload.documents >= GRAPH_DOCUMENTS:
                upload.check()
                upload.stage = "graph"
                build_graph(upload.kb, progress=False)
            upload.check()
            upload.stage = "opening"
            shutil.rmtree(upload.received)
            self._service.add(upload.name, upload.kb)
            with self._lock:
                upload.check()
                upload.state = "complete"
        except BaseException:
            if upload.stopping.is_set():
                self._forget(upload)
            shutil.rmtree(upload.received, ignore_errors=True)
            raise

    def _forget(self, upload: Upload) -> None:
        self._service.remove(upload.name)
        shutil.rmtree(upload.folder, ignore_errors=True)
        with self._lock:
            self._uploads.pop(upload.name, None)


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


router = APIRouter(tags=["documents"])


class LeftOutFile(BaseModel):
    """A file that was not read."""

    file: str
    reason: str


class UploadRecord(BaseModel):
    """The progress of an upload."""

    kb: str = Field(description="Name of the knowledge base, once it is complete.")
    state: State = Field(description="What has become of it.")
    stage: Stage = Field(description="What is done, or was done last.")
    files: int = Field(description="Files of the upload.")
    done: int = Field(description="Files that were read.")
    documents: int = Field(description="Documents that were read.")
    left_out: list[LeftOutFile] = Field(description="Files that were not read.")
    problem: str = Field(description="Why it failed; empty otherwise.")


class UploadRecords(BaseModel):
    """All uploads, and the limits of one."""

    uploads: list[UploadRecord]
    most_files: int
    most_bytes: int


_FORM = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "name": {"type": "string", "description": "What to name the knowledge base after."},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
    },
}


@router.post(
    UPLOADS,
    status_code=202,
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"schema": _FORM}}}},
)
async def upload_files(request: Request) -> UploadRecord:
    """Begin to make a knowledge base of files."""
    uploads = _uploads(request)
    with uploads.receiving():
        async with request.form(max_files=FILES, max_fields=1) as form:
            upload = await run_in_threadpool(uploads.submit, *_given(form))
    return _record(upload)


@router.get(UPLOADS)
def list_uploads(request: Request) -> UploadRecords:
    """Return all uploads, also of earlier runs of the service."""
    uploads = _uploads(request)
    return UploadRecords(
        uploads=list(map(_record, uploads.all())), most_files=FILES, most_bytes=uploads.most_bytes
    )


@router.get(UPLOADS + "/{kb}")
def upload_state(kb: str, request: Request) -> UploadRecord:
    """Return how far an upload is."""
    return _record(_uploads(request).upload(kb))


@router.delete(UPLOADS + "/{kb}", status_code=204)
def delete_upload(kb: str, request: Request) -> None:
    """Stop an upload, or delete the knowledge base that was made of it."""
    _uploads(request).delete(kb)


def _given(form: FormData) -> tuple[str, list[UploadFile]]:
    """Return the name and the files of a form; browsers send a file without a name for none."""
    name, files = form.get("name", ""), form.getlist("files")
    named = [each for each in files if isinstance(each, UploadFile) and each.filename]
    if form.keys() - {"name", "files"} or not isinstance(name, str) or not named:
        raise ProblemError(
            422, "there is no file", "Send files as `files` of multipart/form-data", "files"
        )
    return name or PurePosixPath(named[0].filename or "").stem, named


def _uploads(request: Request) -> Uploads:
    uploads: Uploads | None = request.app.state.uploads
    if uploads is None:
        raise ProblemError(
            404,
            "this service takes no files",
            "Start it with a folder: `admiral serve --uploads DIR`",
        )
    return uploads


def _record(upload: Upload) -> UploadRecord:
    left_out = [LeftOutFile(file=file, reason=reason) for file, reason in upload.left_out]
    counts = {"files": upload.files, "done": upload.done, "documents": upload.documents}
    return UploadRecord(
        kb=upload.name,
        state=upload.state,
        stage=upload.stage,
        problem=upload.problem,
        left_out=left_out,
        **counts,
    )
