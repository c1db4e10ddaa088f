"""The retrieval method (paper, section 3), in reading order.

1. `state`: what is known about one claim while it is processed.
2. `hop_loop`: one hop of a batch of claims, and when to stop.
3. `first_stage`: candidate documents from the claim alone.
4. `mentions` and `title_matching`: documents whose titles a text mentions.
5. `evidence`: the sentences that a hop keeps.
6. `hop_retriever`, `hop_grammar` and `identifiers`: the next document sets, by constrained
   decoding; `hyperlinks` is an option of it, and `no_generator` takes its place where nothing is
   generated.
7. `result`: the ranked documents and the warnings of a finished claim.

`stage_assembly` builds the stages (`admiral.protocols`) that the settings name; `provenance`
records which settings, checkpoint and knowledge base the results of a run come from.
"""
