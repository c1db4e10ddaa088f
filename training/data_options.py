"""Programs that write training data: their options are the fields of a model, declared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import click
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from admiral.citations.citation_file import read_citations
from admiral.citations.citation_records import CitedClaim
from admiral.config import RetrievalConfig
from admiral.errors import problem_of
from admiral.kb import KnowledgeBase
from admiral.retrieval.stage_assembly import open_lexicon
from admiral.storage.atomic_files import check_distinct_paths
from proofs import SpanLexicon
from training.command_options import ProgramCommand
from training.data.claim_sources import FORMATS, Source, titles_of
from training.data.evidence_corpora import Corpus, with_documents

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Argument = Annotated[Path, click.Argument]
Sources = Annotated[tuple[Annotated[Source, BeforeValidator(Source.parse)], ...], "FORMAT:FILE"]


class Options(BaseModel):
    """Options of a program.

    The description of a field is its help, and a text beside its type its metavariable.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class OutOptions(Options):
    """The argument of a program that writes a file."""

    out: Argument


class SeedOptions(Options):
    """An option of programs that draw at random."""

    seed: int = 0
    """The same seed gives the same output."""


class KbOptions(Options):
    """An option of programs that read a knowledge base."""

    kb: str = "demo"
    """Knowledge base."""


class ExcludeOptions(Options):
    """An option of programs whose output must not show what is evaluated on."""

    exclude: tuple[Path, ...] = ()
    """Development claims, or FORMAT:FILE: what needs their documents is left out; repeatable."""

    def excluded(self) -> set[str]:
        """Return the titles of the documents that development claims need."""
        return titles_of(self.exclude)


class ClaimOptions(KbOptions, SeedOptions, OutOptions):
    """Options of a program that reads claims with gold documents."""

    source: Sources = Field(
        description="Claims with gold documents; repeatable. FORMAT is one of "
        f"{', '.join(FORMATS)}; gold detects its own. FORMAT/TASK+TASK limits the tasks."
    )
    hold_out: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the claims to leave out, for --held-out of the programs that fit weights."""

    def claim_files(self) -> list[Source]:
        """Return the files without the held-out share of their claims."""
        return [source.without_held_out(self.hold_out) for source in self.source]


class CitationOptions(OutOptions):
    """Options of programs that read claims with citations."""

    citations: tuple[Path, ...]
    """Claims with citations: WAFER, WiCE or `citations.jsonl`; repeatable."""
    kb: str
    """Knowledge base of the cited pages."""
    exclude: tuple[Path, ...] = ()
    """Development claims; their pages are in no sample; repeatable."""

    def claims(self) -> list[CitedClaim]:
        """Return the claims that are not of excluded pages."""
        excluded = {claim.page for path in self.exclude for claim in read_citations(path)}
        claims = (claim for path in self.citations for claim in read_citations(path))
        return [claim for claim in claims if claim.page not in excluded]


class DocumentOptions(Options):
    """An option of programs that also read documents from files."""

    documents: tuple[Path, ...] = ()
    """Documents to add to the knowledge base, such as FEVEROUS pages; repeatable."""

    def corpus(self, kb: KnowledgeBase) -> Corpus:
        """Return a knowledge base with the documents."""
        return with_documents(kb, self.documents)


class HeadingOptions(Options):
    """An option of programs that write samples of retrieval."""

    headings: Share = 0.0
    """Share of the retrieval samples whose titles become catalogue headings, as Meyers, Seth."""


class LexiconOptions(Options):
    """Options of programs that align the spans of proofs."""

    wordnet: bool = False
    """Align the spans of proofs by WordNet too."""
    paraphrases: Annotated[str, "FILE"] = ""
    """Word list, or PPDB."""
    antonyms: Annotated[str, "FILE"] = ""
    """Word list of opposites."""

    def lexicon(self) -> SpanLexicon:
        """Open the lexicon."""
        chosen = self.model_dump(include={"wordnet", "paraphrases", "antonyms"})
        return open_lexicon(RetrievalConfig(**chosen))


AnyOptions = TypeVar("AnyOptions", bound=Options)


def program(kind: type[AnyOptions]) -> Callable[[Callable[[AnyOptions], None]], click.Command]:
    """Return a decorator that makes a function of options a command."""

    def decorate(function: Callable[[AnyOptions], None]) -> click.Command:
        def callback(**values: Any) -> None:
            try:
                options = kind(**values)
            except ValidationError as error:
                field, problem = problem_of(error)
                hint = _flag(field.partition("[")[0]) if field else None
                raise click.BadParameter(problem, param_hint=hint) from error
            if isinstance(options, OutOptions):
                check_distinct_paths(options.out, *_inputs(options))
            function(options)

        parameters = [_parameter(name, field) for name, field in kind.model_fields.items()]
        parameters.sort(key=lambda each: each.name == "out")  # the last argument
        return ProgramCommand("main", callback=callback, params=parameters, help=function.__doc__)

    return decorate


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parameter(name: str, field: FieldInfo) -> click.Parameter:
    if click.Argument in field.metadata:
        return click.Argument([name], type=click.Path(path_type=Path))
    kind: Any = field.annotation
    many = get_origin(kind) is tuple
    if many:
        kind = get_args(kind)[0]
    types = {Path: click.Path(path_type=Path), int: int, float: float, bool: bool}
    is_choice = get_origin(kind) is Literal
    return click.Option(
        [_flag(name), name],
        type=click.Choice(get_args(kind)) if is_choice else types.get(kind, str),
        multiple=many,
        is_flag=kind is bool,
        required=field.is_required(),
        show_default=not (many or field.default is False or field.default == ""),
        metavar=next((each for each in field.metadata if isinstance(each, str)), None),
        help=field.description,
        **({} if many or field.is_required() else {"default": field.default}),
    )


def _inputs(options: OutOptions) -> list[Path]:
    values = [getattr(options, name) for name in type(options).model_fields if name != "out"]
    each: Sequence[Any] = [
        one for value in values for one in (value if isinstance(value, tuple) else (value,))
    ]
    paths = [one.path if isinstance(one, Source) else one for one in each]
    return [path for path in paths if isinstance(path, Path)]
