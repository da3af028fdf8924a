"""``python opacus_peer.py <rounds> <network> ...`` in the environment of Opacus: seconds a step, as one JSON line.

The plain step of torch is measured in the same process, so that both sides can be compared through it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn

BATCH = 256
BATCHES = {"logistic": 1024, "mlp": 256, "cnn": BATCH}


def network(task: str) -> nn.Sequential:
    """The three networks that are timed."""
    if task == "logistic":
        return nn.Sequential(nn.Linear(100, 2))
    if task == "mlp":
        return nn.Sequential(nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return convolutional()


def convolutional() -> nn.Sequential:
    """The small network for images of 28 x 28 that papers on private training share (26,010 parameters)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


def batch(task: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A made-up batch."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, 28, 28) if task == "cnn" else (100,)
    classes = 2 if task == "logistic" else 10
    size = BATCHES[task]
    return torch.randn(size, *shape, generator=generator), torch.randint(0, classes, (size,), generator=generator)


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """The batch of the convolutional network."""
    return batch("cnn")


def plain(task: str = "cnn") -> Callable[[], None]:
    """A step without privacy."""
    x, y = batch(task)
    model, loss = network(task), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def opacus(task: str, mode: str) -> Callable[[], None]:
    """A step of Opacus."""
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    x, y = batch(task)
    model, loss = network(task), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(TensorDataset(x, y), batch_size=len(x)),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
        grad_sample_mode=mode,
        **({"criterion": loss} if mode == "ghost" else {}),
    )
    model, optimizer = made[0], made[1]
    loss = made[2] if mode == "ghost" else loss

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def timed(task: str, rounds: int) -> dict[str, float]:
    """Median processor time of a step, taken in turns."""
    steps = {"plain": plain(task), "hooks": opacus(task, "hooks"), "ghost": opacus(task, "ghost")}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 2):
        for name, step in steps.items():
            start = time.process_time()
            step()
            if turn > 1:
                times[name].append(time.process_time() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    """Time every network asked for."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print(json.dumps({task: timed(task, int(sys.argv[1])) for task in sys.argv[2:]}))


if __name__ == "__main__":
    main()
