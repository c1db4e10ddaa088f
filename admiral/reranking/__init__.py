"""Stage 2, reranking: score the sentences of candidate documents against the claim."""
