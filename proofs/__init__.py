"""Natural logic: operators, proofs, lexicons, annotation, constrained generation, judges.

What decodes (`ProofGrammar`, `ProofGenerator`, `target_ids`) needs torch and is imported when it is
first asked for, so that records of proofs can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from proofs.annotate import annotate
from proofs.calibrated import CalibratedJudge
from proofs.drafting import AnnotationError, lexical_proof
from proofs.files import ProofFileError, read_proofs
from proofs.joins import Relation, compose, join
from proofs.judgement import Judgement
from proofs.judges import AlwaysSufficient, GeneratedProofJudge, LexicalJudge, NeverSufficient
from proofs.lexicon import BuiltinLexicon, Lexicon, SpanLexicon, WordLexicon
from proofs.notation import ProofError, ProofSyntaxError
from proofs.operators import SUFFICIENCY_OPERATORS, NatOp, Verdict
from proofs.proof import Proof, ProofStep
from proofs.word_lists import PairLexicon
from proofs.wordnet import default_lexicon

if TYPE_CHECKING:
    from proofs.classifier import ClassifierJudge
    from proofs.generator import ProofGenerator, ScoredProof
    from proofs.grammar import ProofGrammar
    from proofs.targets import target_ids

__all__ = [
    "SUFFICIENCY_OPERATORS",
    "AlwaysSufficient",
    "AnnotationError",
    "BuiltinLexicon",
    "CalibratedJudge",
    "ClassifierJudge",
    "GeneratedProofJudge",
    "Judgement",
    "LexicalJudge",
    "Lexicon",
    "NatOp",
    "NeverSufficient",
    "PairLexicon",
    "Proof",
    "ProofError",
    "ProofFileError",
    "ProofGenerator",
    "ProofGrammar",
    "ProofStep",
    "ProofSyntaxError",
    "Relation",
    "ScoredProof",
    "SpanLexicon",
    "Verdict",
    "WordLexicon",
    "annotate",
    "compose",
    "default_lexicon",
    "join",
    "lexical_proof",
    "read_proofs",
    "target_ids",
]

_LAZY = {
    "ClassifierJudge": "proofs.classifier",
    "ProofGenerator": "proofs.generator",
    "ProofGrammar": "proofs.grammar",
    "ScoredProof": "proofs.generator",
    "target_ids": "proofs.targets",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
