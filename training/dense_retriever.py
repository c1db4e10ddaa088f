"""Train an encoder for dense retrieval of sources on cited pages, by expectation maximisation.

Run as::

    accelerate launch -m training.dense_retriever --config configs/paper-side-dense.yaml

or with ``python``.
"""

from __future__ import annotations

from pathlib import Path

from training.command_options import training_command


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    from training.cited_pages.em_encoder import train_dense_retriever
    from training.cited_pages.em_settings import load_em_config

    train_dense_retriever(load_em_config(path, overrides), overwrite=overwrite)


main = training_command(
    _start, "Train an encoder of claims and passages on cited pages.", "docs/side.md"
)

if __name__ == "__main__":
    main()
