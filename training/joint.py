"""Train one checkpoint for all three tasks: hop retrieval, reranking and proof generation.

Run as ``accelerate launch -m training.joint --config configs/mini.yaml``. On a single device,
``python -m training.joint --config ...`` does the same.
"""

from training.multitask.multitask_settings import multitask_command
from trie.safe_tokenizer import TASKS

main = multitask_command(TASKS, "Train the retriever, reranker and prover in one checkpoint.")

if __name__ == "__main__":
    main()
