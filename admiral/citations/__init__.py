"""Citation verification (SIDE): does the cited source support the sentence, and which one would."""
