"""The programs: ``python -m training PROGRAM``.

``accelerate launch -m training PROGRAM`` starts one that trains on several devices.
"""

from __future__ import annotations

import logging
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import click

from training.command_options import ProgramCommand, check_training_extra


class Trainer(NamedTuple):
    """A program that trains with the settings of a file."""

    product: str
    program: str  # the `Program`, as MODULE:NAME
    tasks: tuple[str, ...] = ()  # of the multi-task model


_MULTITASK = "training.multitask.multitask_program:MultiTaskProgram"
TRAINERS = {
    "joint": Trainer(
        "one checkpoint that retrieves, reranks and proves",
        _MULTITASK,
        ("retrieve", "rerank", "prove"),
    ),
    "retriever": Trainer(
        "a hop retriever, which names sentences and a title", _MULTITASK, ("retrieve",)
    ),
    "reranker": Trainer("a sentence reranker", _MULTITASK, ("rerank",)),
    "prover": Trainer("a generator of natural-logic proofs", _MULTITASK, ("prove",)),
    "verifier": Trainer(
        "a verifier of claims and evidence",
        "training.verification.verifier_program:VerifierProgram",
    ),
    "reader": Trainer(
        "a natural-logic reader, whose proof is the verdict",
        "training.reading.reader_program:ReaderProgram",
    ),
    "source_verifier": Trainer(
        "a verifier of sources, on cited pages", "training.cited_pages:SourceVerifierProgram"
    ),
    "dense_retriever": Trainer(
        "an encoder of claims and passages", "training.cited_pages:DenseProgram"
    ),
}
#: The other programs; each is the command `main` of its module.
PROGRAMS = {
    "base": "Get the pretrained encoder of the natural-logic reader.",
    "warm_start": "Write the untrained `mini`, from MiniLM.",
    "synthesize": "Write multi-hop claims over a knowledge base, with evidence.",
    "build_data": "Write samples of claims with gold evidence.",
    "build_proofs": "Write samples of proofs that a verifier confirms.",
    "link_prediction": "Write samples of documents that mention each other.",
    "on_policy": "Write samples of the hops that the system makes.",
    "sentence_pairs": "Write pairs for a sentence encoder.",
    "build_examples": "Write examples of the verifier.",
    "build_twins": "Write examples that differ little, from documents.",
    "citation_pairs": "Write claims with passages of the pages that they cite.",
    "expansion_data": "Write samples of titles of cited pages.",
    "sufficiency": "Fit the judge `classifier`.",
    "ranking": "Fit the document scorer.",
    "calibration": "Calibrate a verifier.",
    "citations": "Fit the weights of the verification of citations.",
    "export_verifier": "Write a verifier as ONNX, for use without torch.",
    "export_reader": "Write a natural-logic reader as ONNX, for use without torch.",
}


class Programs(click.Group):
    """The programs, of which only the one that runs is imported."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the programs."""
        return [*TRAINERS, *PROGRAMS]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a program."""
        if name in TRAINERS:
            return _training_command(TRAINERS[name])
        if name not in PROGRAMS:
            return None
        try:
            command: click.Command = import_module(f"training.{name}").main
        except ModuleNotFoundError:
            check_training_extra()
            raise
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each program."""
        trains = {name: f"Train {trainer.product}." for name, trainer in TRAINERS.items()}
        with formatter.section("Programs"):
            formatter.write_dl([*trains.items(), *PROGRAMS.items()])


def _training_command(trainer: Trainer) -> click.Command:
    @click.command(
        cls=ProgramCommand,
        help=f"Train {trainer.product}.\n\nA stopped run continues from its last saved state.",
    )
    @click.option(
        "--config",
        "path",
        type=click.Path(path_type=Path),
        required=True,
        help="YAML file of settings, such as those in configs/.",
    )
    @click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a setting."
    )
    @click.option("--overwrite", is_flag=True, help="Start a new run and replace the one in `out`.")
    def main(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
        from training.loop.training_loop import run_training

        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
        program = resolve_name(trainer.program)
        config = program.settings.read(path, overrides)
        if trainer.tasks:
            program = partial(program, tasks=trainer.tasks)
        run_training(config, partial(program, config), overwrite=overwrite)

    return main


@click.command(cls=Programs, help="Train models, build what they learn from, and fit weights.")
def main() -> None:
    """Run a program."""


if __name__ == "__main__":
    main(prog_name="python -m training")
