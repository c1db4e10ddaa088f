"""Read Jupyter notebooks: their Markdown cells. Code cells and outputs are left out."""

from __future__ import annotations

import json

from admiral.io.text_encodings import decode_text
from admiral.kb.corpus.files.extraction import TextBuilder
from admiral.kb.corpus.files.markdown_files import add_markdown


def read_notebook(data: bytes, text: TextBuilder) -> None:
    """Read a notebook of format version 3 or 4."""
    notebook = json.loads(decode_text(data, text.notes))
    sheets = notebook.get("worksheets", [notebook])
    metadata = notebook.get("metadata", {})
    text.propose_title(metadata.get("title") or metadata.get("name"))
    for sheet in sheets:
        for cell in sheet["cells"]:
            source = cell.get("source", "")
            source = source if isinstance(source, str) else "".join(source)
            if cell["cell_type"] == "markdown":
                add_markdown(source, text)
            elif cell["cell_type"] == "heading":  # of version 3
                text.heading(int(cell["level"]), source)
            elif source:
                text.left_out["code"] += 1
