"""Train a proof generator, which writes natural-logic proofs.

Run as ``accelerate launch -m training.prover --config configs/paper-prover.yaml``. On a single
device, ``python -m training.prover --config ...`` does the same.
"""

from training.multitask.multitask_settings import multitask_command

main = multitask_command(("prove",), "Train the proof generator in a checkpoint of its own.")

if __name__ == "__main__":
    main()
