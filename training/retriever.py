"""Train a hop retriever, which generates sentence identifiers and a title.

Run as ``accelerate launch -m training.retriever --config configs/paper-retriever.yaml``. On a
single device, ``python -m training.retriever --config ...`` does the same.
"""

from training.multitask.multitask_settings import multitask_command

main = multitask_command(("retrieve",), "Train the hop retriever in a checkpoint of its own.")

if __name__ == "__main__":
    main()
