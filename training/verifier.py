"""Train the verifier, which reads claims with their evidence.

Run as ``accelerate launch -m training.verifier --config configs/verifier.yaml``, or with
``python``.
"""

from __future__ import annotations

from pathlib import Path

from training.command_options import training_command


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    from training.verification.verifier_program import train_verifier
    from training.verification.verifier_settings import VerifierConfig

    train_verifier(VerifierConfig.read(path, overrides), overwrite=overwrite)


main = training_command(_start, "Train a verifier of claims and evidence.", "docs/verifier.md")

if __name__ == "__main__":
    main()
