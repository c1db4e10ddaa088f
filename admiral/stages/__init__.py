"""The stages of retrieval: first stage, sentence reranker, hop retriever, set scores, ranking."""
