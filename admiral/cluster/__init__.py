"""One run on many machines: claims, or the parts of a knowledge base, handed to Ray's actors."""
