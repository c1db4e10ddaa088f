"""Train a checkpoint that writes natural-logic proofs.

Run as ``accelerate launch -m training.prover --config configs/paper-prover.yaml``; on one
device ``python -m training.prover --config ...`` does the same.
"""

from training.program import program

main = program(("prove",), "Train the proof generator, a checkpoint of its own.")

if __name__ == "__main__":
    main()
