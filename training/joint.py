"""Train one checkpoint for the three tasks: hop retrieval, reranking, proofs.

Run as ``accelerate launch -m training.joint --config configs/mini.yaml``; on one
device ``python -m training.joint --config ...`` does the same.
"""

from training.program import program
from training.run_config import TASKS

main = program(
    TASKS, "Train the retriever, the reranker and the prover of one checkpoint together."
)

if __name__ == "__main__":
    main()
