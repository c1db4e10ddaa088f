"""The settings that all training loops share."""

from __future__ import annotations

from typing import Protocol


class LoopSettings(Protocol):
    """The settings of a run that its reports, devices and learning rates depend on.

    Attributes
    ----------
    steps, warmup_steps, lr_schedule
        Length of the run, and the learning rate over it.
    precision, device
        Number format and device.
    tracker
        Trackers of accelerate.
    """

    steps: int
    warmup_steps: int
    lr_schedule: str
    precision: str
    device: str
    tracker: str
