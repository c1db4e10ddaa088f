"""Read a text that a JSON record gives in parts: paragraphs, sections, or objects of them.

A string is a paragraph, and a list is its members in order. An object that has one of
`CONTENT_FIELDS` is a section, named by its `heading`, `title` or `name`; its other fields are left
out. Of any other object, each field is a section with the name of the field. Null is no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from admiral.errors import RecordError
from admiral.kb.corpus.files.extraction import one_line
from admiral.kb.corpus.readers.corpus_records import SKIP_BAD_REMEDY, json_kind

CONTENT_FIELDS = ("text", "paragraphs", "sections", "content", "contents", "body", "sentences")
_NAMES = ("heading", "title", "name")
_DEEPEST = 50
_LONGEST_PATH = 100  # characters, in messages


class NestedParagraph(NamedTuple):
    """A paragraph and the headings above it, outermost first."""

    section: tuple[str, ...]
    text: str


def nested_paragraphs(value: Any, field: str, where: str) -> Iterator[NestedParagraph]:
    """Yield the paragraphs of a text in order.

    Parameters
    ----------
    value
        The text, as JSON has it.
    field
        Path of the value in the record, such as ``text[2].body``.
    where
        Position of the record.

    Raises
    ------
    RecordError
        For what is no text, such as a number, or is nested too deeply.
    """
    yield from _paragraphs(value, field, where, (), 0)


def _paragraphs(
    value: Any, field: str, where: str, section: tuple[str, ...], depth: int
) -> Iterator[NestedParagraph]:
    if depth > _DEEPEST:
        problem = f"nested more than {_DEEPEST} times"
        raise RecordError(where, field[:_LONGEST_PATH], problem, SKIP_BAD_REMEDY)
    if isinstance(value, str):
        yield NestedParagraph(section, value)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _paragraphs(member, f"{field}[{number}]", where, section, depth + 1)
    elif isinstance(value, dict):
        contents = [name for name in value if name in CONTENT_FIELDS]
        if contents:
            names = (value[name] for name in _NAMES if isinstance(value.get(name), str))
            heading = one_line(next(names, ""))
            section = (*section, heading) if heading else section
        for name in contents or value:
            inner = section if contents else (*section, one_line(name))
            yield from _paragraphs(value[name], f"{field}.{name}", where, inner, depth + 1)
    elif value is not None:
        problem = f"{json_kind(value)} where a text is needed"
        raise RecordError(where, field, problem, SKIP_BAD_REMEDY)
