"""The names of what comes with the package; they stand for it whatever lies in the directory."""

MODELS = ("mini",)
DEMO = "demo"  # the knowledge base


def is_bundled(name: str) -> bool:
    """Whether a name stands for something that comes with the package, and for no directory."""
    return name in (*MODELS, DEMO)
