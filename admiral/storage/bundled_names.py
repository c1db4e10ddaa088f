"""Names of the bundled models and knowledge base; they take precedence over directories."""

MODELS = ("mini",)
DEMO = "demo"  # the knowledge base


def is_bundled(name: str) -> bool:
    """Return whether a name stands for a bundled model or knowledge base."""
    return name in (*MODELS, DEMO)
