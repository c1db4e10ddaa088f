"""What comes in and goes out: streams, claims, results, TREC runs, text and HTML."""
