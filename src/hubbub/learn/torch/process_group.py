"""Several processes that train one model: each has examples of its own, and noise is added once.

Every process samples its own examples at the run's rate, so the batch over all of them is a Poisson sample of the
union. Clipped sums meet at the leader, which adds the noise of the run and tells everybody the noisy sum. Processes
trust each other: what travels between them is not noisy yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hubbub.learn.training.network import Floats
from hubbub.terms import MissingParameter


class Alone:
    """One process."""

    leads = True

    def total(self, values: Floats) -> Floats:
        """The sum over the processes, for the leader."""
        return values

    def broadcast(self, value: object) -> Any:
        """What the leader says."""
        return value


class Team(Alone):
    """The processes of torch.distributed's default group; the first one leads."""

    def __init__(self) -> None:
        self.leads = torch.distributed.get_rank() == 0

    def total(self, values: Floats) -> Floats:
        tensor = torch.from_numpy(np.ascontiguousarray(values))
        torch.distributed.reduce(tensor, dst=0)
        return values if not self.leads else tensor.numpy()

    def broadcast(self, value: object) -> Any:
        if isinstance(value, np.ndarray):
            tensor = torch.from_numpy(np.ascontiguousarray(value))
            torch.distributed.broadcast(tensor, src=0)
            return tensor.numpy()
        box = [value]
        torch.distributed.broadcast_object_list(box, src=0)
        return box[0]


def team_of(parallel: bool) -> Alone:
    """This process alone, or the group that was set up."""
    if not parallel:
        return Alone()
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise MissingParameter(
            "parallel=True needs processes that know each other.",
            why="Sums of several processes meet before noise is added.",
            fix='Call torch.distributed.init_process_group("gloo", ...) first, in each process.',
        )
    return Team()
