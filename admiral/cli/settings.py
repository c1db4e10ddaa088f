"""``admiral settings``: every setting with its default, allowed values and meaning."""

from __future__ import annotations

import click

_YAML_HEADING = """\
The settings of `admiral retrieve` with their defaults; written by `admiral settings`.
Copy the lines that you change into a file of your own, or use --set for single settings:
    admiral retrieve --config my.yaml --set judge=lexical "A claim."
Options such as --judge override --set, and both override the file. Unknown keys are errors."""

_CITATIONS_HEADING = """\
The settings of `admiral verify-citation` and `admiral cite` with their defaults; written by
`admiral settings --citations`. Copy the lines that you change into a file of your own, or use --set
for single settings:
    admiral cite --set verifier=coverage --library my-library "A statement."
Unknown keys are errors."""

_PAGE_HEADING = """\
# Settings

<!-- Written by `make settings` from the declarations in admiral/config.py; do not edit. -->

`admiral settings` prints every setting with its default and a comment; the same file is
`configs/retrieval.yaml`. A file of your own contains the settings that you change; `--set` changes
single ones. Options of the command line override `--set`, and both override the file. Unknown
settings are errors. In Python, the settings are the attributes of `admiral.RetrievalConfig`.

```sh
admiral retrieve --config my.yaml --set title_beams=0 --judge generated --max-hops 3 "A claim."
```

Below each setting is its option of the command line, if it has one. [Proofs and judges](proofs.md)
explains the judges and their word lists, [Training](training.md) how weights are fitted, and
[Throughput](throughput.md) what sizes and precision cost.
"""


@click.command("settings")
@click.option("--markdown", is_flag=True, help="Print tables of Markdown instead of YAML.")
@click.option("--citations", is_flag=True, help="The settings of the verification of citations.")
def settings_command(markdown: bool, citations: bool) -> None:
    """Print all settings and their meaning.

    Defaults and allowed values are shown. The output is a YAML file for --config: redirect it to a
    file and delete what you do not change.
    """
    from admiral.config import RetrievalConfig
    from admiral.storage.declared_settings import settings_tables, settings_yaml

    if citations:
        if markdown:
            raise click.UsageError("--citations prints YAML only; leave out --markdown.")
        from admiral.citations.citation_settings import CitationConfig

        page = settings_yaml(CitationConfig, _CITATIONS_HEADING)
    elif markdown:
        from admiral.cli.retrieve import retrieve_command

        options = {option.name: option.opts[0] for option in retrieve_command.params}
        page = _PAGE_HEADING + settings_tables(RetrievalConfig, options.get)
    else:
        page = settings_yaml(RetrievalConfig, _YAML_HEADING)
    click.echo(page, nl=False)
