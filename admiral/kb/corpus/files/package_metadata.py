"""Read the metadata of Python packages (``METADATA``, ``PKG-INFO``) with their descriptions."""

from __future__ import annotations

from email.parser import Parser

from admiral.kb.corpus.files.extraction import TextBuilder, closed
from admiral.kb.corpus.files.markdown_files import add_markdown
from admiral.kb.corpus.files.plain_text_files import add_plain_text
from admiral.kb.corpus.files.restructuredtext_files import add_restructuredtext

_FIELDS = ("Version", "Author", "Maintainer", "License", "License-Expression", "Requires-Python")
_LONGEST_FIELD = 200  # characters; a licence may be given in full


def read_package_metadata(data: bytes, text: TextBuilder) -> None:
    """Read core metadata: name, summary, single fields, and the description as a document."""
    message = Parser().parsestr(data.decode("utf-8"))
    name = str(message.get("Name", ""))
    if not name:
        raise ValueError("no field 'Name'")
    text.propose_title(name)
    if message.get("Summary"):
        text.paragraph(f"{name}: {closed(str(message['Summary']))}")
    for field in _FIELDS:
        value = str(message.get(field, ""))
        if value and value != "UNKNOWN" and len(value) < _LONGEST_FIELD:
            text.paragraph(f"{field.replace('-', ' ')} of {name}: {closed(value)}")
    body = message.get_payload()
    description = body if isinstance(body, str) and body.strip() else message.get("Description", "")
    kind = str(message.get("Description-Content-Type", "")).partition(";")[0].strip()
    add = {"text/markdown": add_markdown, "text/plain": add_plain_text}
    add.get(kind, add_restructuredtext)(str(description), text)
