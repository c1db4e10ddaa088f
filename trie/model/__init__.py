"""A BART model run step by step for many inputs, and its tokenizer."""
