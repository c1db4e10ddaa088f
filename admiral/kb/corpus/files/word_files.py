"""Read Word documents (DOCX): headings, paragraphs, list items and tables."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.zip_archives import open_archive

if TYPE_CHECKING:
    from docx.table import Table

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(data: bytes, text: TextBuilder) -> None:
    """Read a DOCX file."""
    import docx
    from docx.text.paragraph import Paragraph

    open_archive(data, (".xml", ".rels")).close()
    document = docx.Document(io.BytesIO(data))
    text.propose_title(document.core_properties.title)
    in_list = False
    for block in document.iter_inner_content():
        if not isinstance(block, Paragraph):
            _add_table(block, text)
            in_list = False
            continue
        style = block.style.name if block.style is not None and block.style.name else ""
        is_item = style.startswith("List") or _is_numbered(block)
        if is_item and not in_list:
            text.begin_list()
        in_list = is_item
        if style == "Title":
            text.heading(1, block.text)
        elif match := _HEADING.match(style):
            text.heading(int(match.group(1)), block.text)
        elif is_item:
            text.item(block.text)
        else:
            text.paragraph(block.text)


def _is_numbered(paragraph: object) -> bool:
    properties = getattr(paragraph, "_p").pPr  # noqa: B009
    return properties is not None and properties.numPr is not None


def _add_table(table: Table, text: TextBuilder) -> None:
    """Add a table whose first row has the heads of its columns."""
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    if len(rows) == 1:
        text.row(rows[0])
    for row in rows[1:]:
        text.row(row, rows[0])
