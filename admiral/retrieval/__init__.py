"""The retrieval method (paper, section 3), in reading order.

1. `state`: what is known about one claim while it is processed: the sentences that a hop reads and
   keeps, with a record for each hop.
2. `search`: the search for a batch of claims, hop by hop, and when to stop.
3. `first_stage`: candidate documents from the claim alone, and those that a text names.
4. `rerankers`: the scores of sentences.
5. `hop_retriever`: the next document sets, by constrained decoding.
6. `document_ranking`: the ranking of all documents that were found, and the result.

`stage_assembly` builds the stages (`admiral.protocols`) and the judge that the settings name;
`provenance` records which settings, checkpoint and knowledge base the results of a run come from.
"""
