"""The method, hop by hop: first stage, evidence, hop retriever, document sets, result."""
