"""Training: the warm start, samples from claims, and the programs that train checkpoints.

A training step, in reading order: `training.__main__` names the tasks,
`training.multitask.multitask_program` opens the run, `training.multitask.sample_batches` encodes
and batches the samples of `training.data.samples`, `training.loop.training_loop` steps,
`training.multitask.multitask_model` computes the loss, `training.loop.run_files` saves.
"""
