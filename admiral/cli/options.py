"""Commands as classes: their options are fields, each declared once with its type and its help."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

import click
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from admiral.cli.main import verbose_option
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, problem_of
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.settings_docs import Setting, described
from admiral.requirements import DEMO
from admiral.settings import Settings
from admiral.storage.atomic_files import encode_record


@dataclass(frozen=True, slots=True)
class Given:
    """The form of a field on the command line, if it is not an option of its own name."""

    names: tuple[str, ...] = ()
    metavar: str | None = None
    is_argument: bool = False
    is_hidden: bool = False


def option(*names: str, metavar: str | None = None) -> Given:
    """Return the names of an option, and what its help shows for the value."""
    return Given(names, metavar)


def argument(metavar: str | None = None) -> Given:
    """Return that a field is an argument, and its name in the help."""
    return Given(metavar=metavar, is_argument=True)


class Command(BaseModel):
    """A command: its docstring is the help, its fields are the options and arguments.

    The help shows the fields of a class before those that it inherits. Those that were given are
    `model_fields_set`.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        defer_build=True,  # the help needs none of them
    )

    @classmethod
    def parameters(cls) -> list[click.Parameter]:
        """Return the parameters of the command."""
        fields: dict[str, FieldInfo] = {}
        for each in cls.__mro__:
            for name in inspect.get_annotations(each):
                if name in cls.model_fields and issubclass(each, BaseModel):
                    fields.setdefault(name, each.model_fields[name])
        made = (_parameter(name, field) for name, field in fields.items())
        return [each for each in made if each is not None]

    def run(self) -> object:
        """Run the command; return its exit status, if that is not 0."""
        raise NotImplementedError


def _parameter(name: str, field: FieldInfo) -> click.Parameter | None:
    kind, rules = _without_none(field.annotation, field.metadata)
    several = get_origin(kind) is tuple
    if several:
        kind, rules = _without_none(get_args(kind)[0], rules)
    given = next((each for each in rules if isinstance(each, Given)), Given())
    if given.is_hidden:
        return None
    shown: dict[str, Any] = {"metavar": given.metavar, "type": _click_type(kind, rules)}
    if not field.is_required():
        shown["default"] = field.default
    if given.is_argument:
        nargs = -1 if several else 1
        return click.Argument([name], nargs=nargs, required=field.is_required(), **shown)
    names = given.names or (f"--{name.replace('_', '-')}",)
    if kind is bool:
        del shown["type"], shown["metavar"]
        if field.default is False:
            shown["is_flag"] = True
        else:
            names = (f"{names[0]}/--no-{names[0].removeprefix('--')}",)
    return click.Option(
        [*names, name],
        multiple=several,
        required=field.is_required(),
        show_default=field.default not in (None, "", ()) and field.default is not False,
        help=" ".join((field.description or "").split()),
        **shown,
    )


def _without_none(kind: Any, rules: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return a type and its rules without those around them."""
    rules = list(rules)
    while get_origin(kind) in (Union, UnionType, Annotated):
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            for each in more:
                rules += each.metadata if isinstance(each, FieldInfo) else [each]
        else:
            (kind,) = (each for each in get_args(kind) if each is not NoneType)
    return kind, rules


def _click_type(kind: Any, rules: Sequence[Any]) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is Path:
        return click.Path(path_type=Path)
    limits = {
        key: getattr(rule, key) for rule in rules for key in ("ge", "le") if hasattr(rule, key)
    }
    if kind in (int, float) and limits:
        ranged = click.IntRange if kind is int else click.FloatRange
        return ranged(limits.get("ge"), limits.get("le"))
    return kind


def command(kind: type[Command], name: str = "", **attributes: Any) -> click.Command:
    """Return the command of a class, by default of its name: ``verify-citation`` of VerifyCitation.

    `attributes`: others of the command.
    """

    @click.pass_context
    def run(context: click.Context, /, **values: Any) -> object:
        default = click.core.ParameterSource.DEFAULT
        is_given = {key: context.get_parameter_source(key) is not default for key in values}
        try:
            given = kind(**{key: value for key, value in values.items() if is_given[key]})
        except ValidationError as error:
            field, problem = problem_of(error)
            raise click.UsageError(f"--{field.replace('_', '-')}: {problem}.") from error
        return given.run()

    return click.Command(
        name or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower(),
        callback=run,
        params=[*kind.parameters(), verbose_option()],
        **_help(kind),
        **attributes,
    )


def group(described: type, *commands: type[Command] | click.Command) -> click.Group:
    """Return a group of commands, with the name and the docstring of a class."""
    made = [each if isinstance(each, click.Command) else command(each) for each in commands]
    return click.Group(described.__name__.lower(), made, **_help(described))


def _help(described: type) -> dict[str, Any]:
    """Return the docstring of a class as help, and the examples in it, which come last."""
    help, _, examples = (inspect.getdoc(described) or "").partition("\n\nFor example:\n")
    return {"help": help, "epilog": f"\b\nExamples:\n{examples}" if examples else None}


_METAVARS = {
    "model": "NAME|DIR",
    "kb": "NAME|DIR",
    "hops": "dynamic|N",
    "stop_at": "P",
    "verifier": "NAME|DIR",
    "base_url": "URL",
}


class Configured(Command):
    """Settings: those of a file, those of --set, and those that are options of their own."""

    settings: ClassVar[type[Settings]] = RetrievalConfig
    #: The settings that are options of their own.
    own: ClassVar[tuple[str, ...]] = ()

    config: Annotated[Path | None, option("--config")] = None
    """YAML file of settings. Options and --set override it."""
    assignments: Annotated[tuple[str, ...], option("--set", metavar="KEY=VALUE")] = ()
    """Change a setting; repeatable. `admiral settings` describes them (of citations: with
    --citations)."""
    chosen: Annotated[dict[str, Any], Given(is_hidden=True)] = {}

    @classmethod
    def parameters(cls) -> list[click.Parameter]:
        """Return the parameters of the command, those of settings before --config."""
        declared = {each.name: each for each in described(cls.settings)}
        parameters = super().parameters()
        place = next(n for n, each in enumerate(parameters) if each.name == "config")
        parameters[place:place] = [
            _setting_option(cls.settings, declared[name]) for name in cls.own
        ]
        return parameters

    @model_validator(mode="before")
    @classmethod
    def _choose(cls, given: dict[str, Any]) -> dict[str, Any]:
        chosen = {name: given[name] for name in cls.own if name in given}
        return {k: v for k, v in given.items() if k not in chosen} | {"chosen": chosen}

    def overrides(self) -> list[str]:
        """Return ``key=value`` strings: those of --set, then the options that were given."""
        return [*self.assignments, *(f"{key}={value}" for key, value in self.chosen.items())]

    def retrieval(self, preset: Mapping[str, Any] = {}) -> RetrievalConfig:
        """Return the settings of a retrieval run; what is given overrides the preset."""
        first = (f"{key}={value}" for key, value in preset.items())
        return RetrievalConfig.read(self.config, [*first, *self.overrides()])


def _setting_option(kind: type[Settings], declared: Setting) -> click.Option:
    type_ = kind.model_fields[declared.name].annotation
    choices = f"One of {', '.join(declared.choices)}." if declared.choices else ""
    default = f"[default: {declared.default}]" if declared.default != "" else ""
    return click.Option(
        [f"--{declared.name.replace('_', '-')}"],
        type=type_ if type_ in (int, float) else str,
        metavar=_METAVARS.get(declared.name, None if type_ is int else "NAME"),
        help=" ".join(filter(None, [declared.summary, choices, default])),
    )


class FileLimitations(Command):
    """The limits of reading one file."""

    file_seconds: Annotated[float, Field(ge=0, le=86_400)] = DEFAULT_LIMITS.seconds
    """Processor time that one document or page may take; 0 for no limit."""
    file_megabytes: Annotated[int, Field(ge=1)] = DEFAULT_LIMITS.megabytes
    """Size of the largest document or page that is read, in MiB after decompression. Some formats
    have a lower limit."""

    @property
    def limits(self) -> FileLimits:
        """The limits."""
        return FileLimits(self.file_seconds, self.file_megabytes)


def _stripped(text: str, info: ValidationInfo) -> str:
    return checked_text(text, f"the {info.field_name}")


#: A text in quotes, such as a claim.
Text = Annotated[str, AfterValidator(_stripped)]
Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000), option("-k", "--k")]
CutOffs = Annotated[
    tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...],
    AfterValidator(lambda given: tuple(sorted(set(given)))),
    option("--k"),
]
Json = Annotated[bool, option("--json")]


class Kb(Command):
    """The knowledge base that a command reads."""

    kb: Annotated[str, option(metavar="NAME|DIR")] = DEMO
    """Knowledge base: a directory, or `demo` for the bundled one."""


class Progress(Command):
    """Whether progress is shown."""

    progress: bool = True
    """Show progress."""


def usable_cores(most: int = 8) -> int:
    """Return the number of cores that this process may use, at most `most`."""
    return min(len(os.sched_getaffinity(0)), most)


def print_report(report: Any, as_json: bool, line: str, counts: Mapping[str, int]) -> None:
    """Print a report as JSON, or a line and the counts that are not zero.

    The line begins with the path of the report.
    """
    if as_json:
        click.echo(json.dumps({**asdict(report), "path": str(report.path)}))
        return
    click.echo(f"{report.path}: {line}, in {report.seconds:.1f} s")
    for name, count in counts.items():
        if count:
            click.echo(f"{name}: {count:,}")


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    shown = list(rows)
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        click.echo(f"{name:<{width}}  {value}")


def print_record(record: Mapping[str, Any]) -> None:
    """Print a record as a line of JSON in UTF-8."""
    sys.stdout.buffer.write(encode_record(record))


def checked_text(text: str, name: str) -> str:
    """Return a text of the command line without outer white space."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(f"{name}: is not text in this terminal's encoding") from error
    if not text.strip():
        raise AdmiralError(f"{name}: is empty. Give its text in quotes")
    return text.strip()


def shown() -> dict[str, Any]:
    """Return how text is printed: its width, and whether in colour, as to most terminals."""
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return {"colour": colour, "width": min(shutil.get_terminal_size((100, 24)).columns, 120)}
