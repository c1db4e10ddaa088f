"""Training of the multi-task model: retriever, reranker and prover in one checkpoint or three."""
