"""Open the archives that DOCX and EPUB files are, with bounds against decompression bombs."""

from __future__ import annotations

import io
import zipfile

from admiral.kb.corpus.files.extraction import TOO_LONG, UnreadableFileError

LONGEST_MEMBER = 64 * 2**20  # bytes
LONGEST_ARCHIVE = 512 * 2**20
MOST_MEMBERS = 20_000
# Begins documents of Office before 2007, and those of later ones that are encrypted.
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def open_archive(data: bytes, is_read: tuple[str, ...]) -> zipfile.ZipFile:
    """Open an archive after checking the sizes of its members.

    Parameters
    ----------
    data
        The bytes of the archive.
    is_read
        Suffixes of the members that are read as text, to which `LONGEST_MEMBER` applies.

    Raises
    ------
    UnreadableFileError
        If the archive would become too large, or is encrypted.
    zipfile.BadZipFile
        If it is damaged.
    """
    if data.startswith(_OLD_OFFICE):
        is_encrypted = "EncryptedPackage".encode("utf-16-le") in data
        raise UnreadableFileError("encrypted" if is_encrypted else "in an old format of Office")
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = archive.infolist()
    if len(members) > MOST_MEMBERS or sum(one.file_size for one in members) > LONGEST_ARCHIVE:
        raise UnreadableFileError(TOO_LONG)
    for member in members:
        # zipfile never reads more than the size that is stated here.
        if member.filename.endswith(is_read) and member.file_size > LONGEST_MEMBER:
            raise UnreadableFileError(TOO_LONG)
        if member.flag_bits & 1:
            raise UnreadableFileError("encrypted")
    return archive
