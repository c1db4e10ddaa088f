"""Read one file as a document with its path, sections and offsets."""

from __future__ import annotations

from dataclasses import replace

from admiral.errors import AdmiralError, RecordError, first_line
from admiral.io.remote import Place
from admiral.io.streams import open_binary
from admiral.kb.corpus.files.document_titles import choose_title, without_number
from admiral.kb.corpus.files.extraction import TOO_LONG, TextBuilder, UnreadableFileError
from admiral.kb.corpus.files.file_types import file_type
from admiral.kb.corpus.readers.corpus_records import (
    Findings,
    RecordOrError,
    SkippedFile,
    cleaned_record,
    source_of,
)
from admiral.records import SECTION_SEPARATOR, Document

DAMAGED = "damaged, or not what their names say"
LOCKED = "lock files of open documents"
_WITHOUT_TEXT = "without text"
_REMEDY = "Correct it, or leave it out with --exclude."


def read_file(file: Place) -> RecordOrError | SkippedFile:
    """Return the document of a file, or the reason why it has none.

    An error is returned for a file of an unknown type, which only its user can have named.
    """
    kind = file_type(file.name)
    where = f"{file}:1"
    if kind is None:
        remedy = "Give files such as .md, .txt, .html or .pdf, or name another --format."
        return RecordError(where, "", "the type of the file is not known", remedy)
    if file.name.startswith("~$"):
        return SkippedFile(LOCKED, file)
    try:
        with open_binary(file) as stream:
            data = stream.read(kind.largest + 1)
    except AdmiralError as error:
        problem = str(error).removeprefix(f"{file}: ").partition(". ")[0]
        return SkippedFile(DAMAGED, file, RecordError(where, "", problem, _REMEDY))
    if len(data) > kind.largest:
        return SkippedFile(TOO_LONG, file)
    if not data:
        return SkippedFile(_WITHOUT_TEXT, file)
    text = TextBuilder()
    try:
        kind.read(data, text)
    except AdmiralError:
        raise
    except UnreadableFileError as error:
        return SkippedFile(str(error), file)
    except Exception as error:  # every parser has its own errors for damaged files
        problem = f"cannot be read as {kind.name} ({type(error).__name__}: {first_line(error)})"
        return SkippedFile(DAMAGED, file, RecordError(where, "", problem, _REMEDY))
    title = choose_title(text.titles, file.name)
    document = _document(title, source_of(file), text)
    findings = Findings(+text.left_out, tuple(dict.fromkeys(text.notes)))
    if not document.sentences:
        return SkippedFile(_WITHOUT_TEXT, file, None, findings)
    try:
        return replace(cleaned_record(document, file, 1), findings=findings)
    except RecordError as error:
        return SkippedFile(DAMAGED, file, error)


def _document(title: str, source: str, text: TextBuilder) -> Document:
    """Return the document; the heading that became its title is left out of the sections."""
    sentences = list(text.sentences())
    sections = (
        s.section[1:]
        if s.section and title in (s.section[0], without_number(s.section[0]))
        else s.section
        for s in sentences
    )
    return Document(
        title,
        tuple(sentence.text for sentence in sentences),
        source=source,
        sections=tuple(SECTION_SEPARATOR.join(section) for section in sections),
        offsets=tuple(sentence.offset for sentence in sentences),
    )
