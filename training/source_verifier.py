"""Train a verifier of sources on cited pages, by expectation maximisation.

Run as::

    accelerate launch -m training.source_verifier --config configs/paper-side-verifier.yaml

or with ``python``.
"""

from __future__ import annotations

from pathlib import Path

from training.command_options import training_command


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    from training.cited_pages.em_settings import load_em_config
    from training.cited_pages.em_verifier import train_source_verifier

    train_source_verifier(load_em_config(path, overrides), overwrite=overwrite)


main = training_command(_start, "Train a verifier on cited pages.", "docs/side.md")

if __name__ == "__main__":
    main()
