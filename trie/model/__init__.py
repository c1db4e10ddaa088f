"""BART run step by step for many claims, and its tokenizer."""
