"""Natural logic: operators, proofs, lexicons, drafts, constrained generation and judges.

A claim's proof and verdict, in reading order: `proofs.judges.verifier_judge` judges, after
`proofs.reader` has read the evidence and `proofs.verifier.exact_comparison` has compared what words
decide; `proofs.judges.judgement` decides; `proofs.judges.reader_proof` shows why, with
`proofs.logic.proof`.

What decodes (`ProofGenerator`, `ProofGrammar`, `target_ids`) or encodes (`ClassifierJudge`) needs
torch and is imported on first use, so that records of proofs can be read without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from proofs.drafting import AnnotationError, annotate, lexical_proof
from proofs.judges.judgement import AlwaysSufficient, Judgement, LexicalJudge, NeverSufficient
from proofs.judges.verifier_judge import VerifierJudge
from proofs.lexicons import (
    BuiltinLexicon,
    PairLexicon,
    SpanLexicon,
    WordLexicon,
    default_lexicon,
)
from proofs.logic import SUFFICIENCY_OPERATORS, NatOp, Relation, Verdict, compose, join
from proofs.logic.proof import (
    Proof,
    ProofError,
    ProofFileError,
    ProofStep,
    ProofSyntaxError,
    read_proofs,
)

if TYPE_CHECKING:
    from proofs.generation import ProofGenerator, ScoredProof
    from proofs.generation.proof_grammar import ProofGrammar, target_ids
    from proofs.judges.generated import ClassifierJudge, GeneratedProofJudge

__all__ = [
    "SUFFICIENCY_OPERATORS",
    "AlwaysSufficient",
    "AnnotationError",
    "BuiltinLexicon",
    "ClassifierJudge",
    "GeneratedProofJudge",
    "Judgement",
    "LexicalJudge",
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
    "VerifierJudge",
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
    "ClassifierJudge": "proofs.judges.generated",
    "GeneratedProofJudge": "proofs.judges.generated",
    "ProofGenerator": "proofs.generation",
    "ProofGrammar": "proofs.generation.proof_grammar",
    "ScoredProof": "proofs.generation",
    "target_ids": "proofs.generation.proof_grammar",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
