"""Train a checkpoint that retrieves: sentence identifiers and a title out.

Run as ``accelerate launch -m training.retriever --config configs/paper-retriever.yaml``; on one
device ``python -m training.retriever --config ...`` does the same.
"""

from training.program import program

main = program(("retrieve",), "Train the hop retriever, a checkpoint of its own.")

if __name__ == "__main__":
    main()
