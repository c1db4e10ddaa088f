"""Train a sentence reranker: an encoder and a head.

Run as ``accelerate launch -m training.reranker --config configs/paper-reranker.yaml``. On a single
device, ``python -m training.reranker --config ...`` does the same.
"""

from training.loop.training_command import training_command

main = training_command(("rerank",), "Train the sentence reranker in a checkpoint of its own.")

if __name__ == "__main__":
    main()
