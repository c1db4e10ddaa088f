"""Examples that the help of the commands ends with, and hints for interrupted commands."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "retrieve": (
        'admiral retrieve "Paris is the capital of France."',
        "admiral retrieve --kb my-kb --input claims.jsonl --output results.jsonl",
        "admiral retrieve --fast --kb my-kb --input claims.jsonl --output results.jsonl",
        "cat claims.txt | admiral retrieve --kb my-kb --json -",
    ),
    "prove": (
        'admiral prove "Paris is in France." --evidence "[Paris] Paris is a city in France."',
    ),
    "index": (
        "admiral index corpus.jsonl --kb my-kb",
        "admiral index notes/ --kb my-kb --overwrite",
    ),
    "join": ("admiral join shard-1 shard-2 --kb my-kb",),
    "add": (
        "admiral add new.jsonl --kb my-kb",
        "admiral add corrected.jsonl --kb my-kb --on-duplicate replace",
    ),
    "remove": (
        'admiral remove "Late Night" --kb my-kb',
        "admiral remove --titles titles.txt --kb my-kb",
    ),
    "compact": ("admiral compact --kb my-kb",),
    "embed": ("admiral embed --kb my-kb",),
    "verify": ("admiral verify --kb my-kb",),
    "info": ("admiral info --kb my-kb",),
    "search": (
        'admiral search "host of the Emmy Awards" --kb my-kb',
        "admiral search late night comedian --kb my-kb -k 3 --json",
    ),
    "show": ('admiral show "Seth Meyers" --kb my-kb',),
    "serve": (
        "admiral serve --kb my-kb",
        "admiral serve --kb my-kb --host 0.0.0.0 --api-keys keys.txt",
    ),
    "extract-citations": (
        "admiral extract-citations Joe_Hipp.wiki --output citations.jsonl",
        "admiral extract-citations page.html other.html --lists --output citations.jsonl",
        "admiral extract-citations dump.xml.bz2 --format dump --tagged failed-verification "
        "--output failed.jsonl",
    ),
    "mcp": ("admiral mcp --kb my-kb", "admiral mcp --kb my-kb --transport http --port 8081"),
    "titles": ('admiral titles "Seth" --kb my-kb',),
    "graph": (
        "admiral graph build --kb my-kb",
        'admiral graph query "Seth Meyers hosts a talk show of NBC." --kb my-kb',
        'admiral graph query --method graph "Seth Meyers hosts Late Night." --kb my-kb',
        'admiral graph explain "Seth Meyers" "NBC" --kb my-kb',
        "admiral graph export graph.graphml --kb my-kb",
    ),
    "library": (
        "admiral library build sources.jsonl pages/ --library my-library --base-url example.org",
        "admiral library add crawl.warc.gz --library my-library",
        "admiral library fetch Joe_Hipp.wiki --library my-library",
        'admiral library search "host of the Emmy Awards" --library my-library',
        "admiral library verify --library my-library",
    ),
    "migrate": ("admiral migrate old-library my-library",),
    "verify-citation": (
        "admiral verify-citation --library my-library --input citations.jsonl "
        "--output verdicts.jsonl",
        'admiral verify-citation --claim "The bridge was opened in 1932." --source page.html',
    ),
    "audit": (
        "admiral audit Joe_Hipp.wiki --library my-library --output audit.html",
        "admiral audit page.html --library my-library --set verifier=coverage --output audit.html",
    ),
    "study": (
        "admiral study build verdicts.jsonl --claims citations.jsonl --output study.html",
        "admiral study score answers-1.json answers-2.json --key study.key.json",
    ),
    "cite": ('admiral cite "The bridge was opened in 1932." --library my-library',),
    "evaluate": (
        "admiral evaluate hover --gold claims.jsonl --predictions results.jsonl",
        "admiral evaluate fever --gold dev.jsonl --predictions results.jsonl --intervals --json",
        "admiral evaluate graph --gold claims.jsonl --kb my-kb",
    ),
    "compare": ("admiral compare first.jsonl second.jsonl --gold claims.jsonl --by-hops",),
    "report": (
        "admiral report results.jsonl --output report.html",
        "admiral report results.jsonl --gold claims.jsonl --output report.html --kb my-kb",
    ),
    "experiment": (
        "admiral experiment configs/experiments/demo.yaml",
        "admiral experiment my.yaml --data data --limit 50 --resume",
    ),
    "synthesize": ("admiral synthesize --kb my-kb --count 8000 --output claims.jsonl",),
    "download": (
        "admiral download hover",
        "admiral download fever --file wiki-pages.zip --out data/fever",
    ),
    "convert": (
        "admiral convert fairseq-to-hf bart.base bart-base-hf",
        "admiral convert hf-to-fairseq my-model my-model-fairseq",
    ),
    "settings": ("admiral settings > my.yaml",),
}

_RESUME = "Run the same command to resume."
_UNCHANGED = "Nothing was changed. Run the same command to start again."
#: What to do about an interrupted command. `retrieve` and `experiment` say it themselves.
INTERRUPTED = {
    **dict.fromkeys(("index", "join", "add", "remove", "compact", "embed", "graph"), _UNCHANGED),
    **dict.fromkeys(("library", "migrate", "extract-citations"), _UNCHANGED),
    **dict.fromkeys(("synthesize", "download"), _RESUME),
}


def epilog(command: str) -> str | None:
    """Return the examples of a command as the epilog of its help; None if it has none."""
    lines = EXAMPLES.get(command)
    if lines is None:
        return None
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
