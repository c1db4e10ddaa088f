"""Input and output: file streams, claims, results, TREC runs, text and HTML."""
