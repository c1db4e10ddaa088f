"""``admiral evaluate citations``: measures of verdicts on citations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from admiral.cli.options import json_record_option

_FILE = click.Path(path_type=Path)


@click.command("citations", short_help="Evaluate verdicts on citations.")
@click.option("--gold", type=_FILE, required=True, help="Claims of WiCE with labels.")
@click.option(
    "--predictions", type=_FILE, required=True, help="Verdicts of `admiral verify-citation`."
)
@json_record_option
def evaluate_citations_command(gold: Path, predictions: Path, as_json: bool) -> None:
    """Evaluate how well verdicts tell supported claims from others.

    Claims whose source was not checked have no score; they are counted apart and never count as
    flagged.
    """
    from admiral.citations.verdict_file import read_verdicts
    from admiral.citations.wice_records import WICE_LABELS, read_wice
    from admiral.evaluation.citation_evaluation import evaluate_citations

    result = evaluate_citations(read_wice(gold), read_verdicts(predictions))
    if as_json:
        record = {
            "task": "citations",
            "claims": result.claims,
            "not_scored": result.not_scored,
            "measures": {
                name: {"value": value, "low": low, "high": high}
                for name, (value, low, high) in result.measures.items()
            },
            "decisions": result.decisions,
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=1))
        return
    click.echo(f"citations, {result.claims} claims, {result.not_scored} of them not scored\n")
    for name, (value, low, high) in result.measures.items():
        limits = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
        click.echo(f"{name:<48}  {'–' if value is None else f'{value:.3f}'}{limits}")
    click.echo(f"\n{'decision':<14}" + "".join(f"{label:>22}" for label in WICE_LABELS))
    for decision, counts in sorted(result.decisions.items()):
        click.echo(f"{decision:<14}" + "".join(f"{counts[label]:>22}" for label in WICE_LABELS))
