"""Train a sentence reranker: an encoder and a head, or a model that answers true or false.

Run as ``accelerate launch -m training.reranker --config configs/paper-reranker.yaml``. On a single
device, ``python -m training.reranker --config ...`` does the same.
"""

from training.multitask.multitask_settings import multitask_command

main = multitask_command(("rerank",), "Train the sentence reranker in a checkpoint of its own.")

if __name__ == "__main__":
    main()
