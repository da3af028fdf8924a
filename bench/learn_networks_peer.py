"""``python learn_networks_peer.py <rounds>`` in the environment of Opacus: seconds a step, as one JSON line.

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


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """A made-up batch."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, 1, 28, 28, generator=generator), torch.randint(0, 10, (BATCH,), generator=generator)


def plain() -> Callable[[], None]:
    """A step without privacy."""
    x, y = images()
    model, loss = convolutional(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def opacus(mode: str) -> Callable[[], None]:
    """A step of Opacus."""
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    x, y = images()
    model, loss = convolutional(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(TensorDataset(x, y), batch_size=BATCH),
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


def main() -> None:
    """Take turns and print medians."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    steps = {"plain": plain(), "hooks": opacus("hooks"), "ghost": opacus("ghost")}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(int(sys.argv[1]) + 2):
        for name, step in steps.items():
            start = time.process_time()
            step()
            if turn > 1:
                times[name].append(time.process_time() - start)
    print(json.dumps({name: statistics.median(each) for name, each in times.items()}))


if __name__ == "__main__":
    main()
