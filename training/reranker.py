"""Train a checkpoint that scores sentences, by its encoder and a head.

Run as ``accelerate launch -m training.reranker --config configs/paper-reranker.yaml``; on one
device ``python -m training.reranker --config ...`` does the same.
"""

from training.program import program

main = program(("rerank",), "Train the sentence reranker, a checkpoint of its own.")

if __name__ == "__main__":
    main()
