"""The natural-logic reader, whose proof is its verdict.

In reading order: `inputs` cuts a claim into spans and encodes it with its evidence, `model` is the
encoder with the heads of a proof, `automaton` turns the operators of spans into verdicts, and
`reading` runs an exported reader, without torch, on evidence of any length.
"""
