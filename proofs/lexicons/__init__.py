"""What is known of the relation of two spans: built-in rules, word lists, WordNet."""
