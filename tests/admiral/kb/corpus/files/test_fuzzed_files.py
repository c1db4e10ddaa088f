"""3,000 fuzzed files: each is read, or a line says why not, within the limits of a file."""

import io
import random
import re
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from admiral.citations.extract import claims_of_file
from admiral.errors import AdmiralError
from admiral.io.limited_reading import OVER_TIME, FileLimits
from admiral.kb.corpus.files.file_types import file_type
from admiral.kb.corpus.readers import Record, SkippedFile, detect_format, read_corpus, read_file
from admiral.library.readers import SourceFiles
from tests.admiral.kb.corpus.files.test_bad_files import whole_files
from tests.admiral.kb.corpus.files.test_damaged_folders import damaged

ROOT = Path(__file__).parents[5]
CASES = ROOT.parent / "shared" / "data" / "reader-cases"
SEED, COUNT = 47, 3000
LIMITS = FileLimits(seconds=20)
_NUMBER = re.compile(rb"(?<=[\"'>= :])\d{1,6}(?=[\"'< ,;/])")
_ELEMENT = re.compile(rb"<[\w:]+[^<>]{0,60}>")
_HUGE = (b"1000000000", b"-1", b"99999999999999999999", b"0", b"1e308", b"NaN")
_PAGES = (".wiki", ".html")


def seeds():
    """Return good files of each format by name, and those of the reader cases where they are."""
    files = dict(whole_files())
    for path in sorted(CASES.glob("*/in/**/*")):
        if path.is_file() and path.stat().st_size:
            files[f"{path.relative_to(CASES).parts[0]}-{path.name}"] = path.read_bytes()
    return files


def fuzzed(rng, files):
    """Return a file with other numbers, nested elements or damage; also within an archive."""
    name = rng.choice(sorted(files))
    data = files[name]
    if zipfile.is_zipfile(io.BytesIO(data)) and rng.random() < 0.7:
        return name, _with_other_member(rng, data)
    return (name, _changed(rng, data)) if rng.random() < 0.5 else damaged(rng, files)


def _with_other_member(rng, data):
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(written, "w") as other:
        names = archive.namelist()
        changed = rng.choice([name for name in names if name.endswith((".xml", ".xhtml", ".opf"))])
        for name in names:
            content = archive.read(name)
            other.writestr(name, _changed(rng, content) if name == changed else content)
    return written.getvalue()


def _changed(rng, data):
    """Return text with numbers made huge, elements nested deeply, or parts moved and repeated."""
    kind = rng.randrange(4)
    if kind == 0:
        return _NUMBER.sub(lambda m: rng.choice(_HUGE) if rng.random() < 0.5 else m[0], data)
    if kind == 1 and (elements := _ELEMENT.findall(data)):
        place = rng.choice([match.start() for match in _ELEMENT.finditer(data)])
        return data[:place] + rng.choice(elements) * rng.choice([50, 3000, 30_000]) + data[place:]
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    if kind == 2:
        return data[:start] + data[start:end][:5000] * rng.randint(2, 40) + data[end:]
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[start:end] + data[place:]


def read_all(path):
    """Read a file by each reader that takes such files, and return what became of it."""
    outcomes = []
    if file_type(path.name) is not None:
        for item in read_file(path, LIMITS):
            assert isinstance(item, Record | SkippedFile)
            outcomes.append(item.reason if isinstance(item, SkippedFile) else "read")
            assert "ended its reader" not in str(getattr(item, "error", ""))
    elif not path.name.endswith(_PAGES):
        outcomes += _until_error(lambda: read_corpus(path, detect_format(path)))
        outcomes += _until_error(lambda: SourceFiles([path], skip_bad=True, limits=LIMITS))
    if path.name.endswith(_PAGES):
        outcomes += _until_error(lambda: claims_of_file(path))
    return outcomes


def _until_error(read):
    try:
        for _ in read():
            pass
    except AdmiralError:
        return ["refused"]
    return ["read"]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_every_fuzzed_file_is_read_or_refused(tmp_path):
    rng, files = random.Random(SEED), seeds()
    outcomes, slowest = Counter(), (0.0, "")
    for number in range(COUNT):
        name, data = fuzzed(rng, files)
        path = tmp_path / name
        path.write_bytes(data)
        began = time.process_time()
        try:
            outcomes.update(set(read_all(path)))
        except BaseException:
            print(f"file {number} of seed {SEED}: {name}")
            raise
        slowest = max(slowest, (time.process_time() - began, name))
        path.unlink()
    print(f"{COUNT} files from {len(files)}: {dict(outcomes)}; slowest {slowest}")
    assert slowest[0] < LIMITS.seconds
    assert not outcomes[OVER_TIME]
    assert outcomes["read"] > COUNT / 2
