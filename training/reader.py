"""Train the natural-logic reader, whose proof is the verdict.

Run as ``accelerate launch -m training.reader --config configs/reader.yaml``, or with ``python``.
"""

from __future__ import annotations

from pathlib import Path

from training.command_options import training_command


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    from training.reading.reader_program import train_reader
    from training.reading.reader_settings import ReaderConfig

    train_reader(ReaderConfig.read(path, overrides), overwrite=overwrite)


main = training_command(_start, "Train a natural-logic reader.", "docs/verifier.md")

if __name__ == "__main__":
    main()
