"""Two real processes train one model: noise comes once, and both end with the same weights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SIZE = 6000


def work(rank: int, folder: Path) -> None:
    """What one of the two processes does; its weights and what it was told go into a file."""
    import torch

    from hubbub.learn.torch import PrivateTrainer
    from hubbub.ledger import Ledger
    from hubbub.terms import Budget, BudgetExceeded

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    price = {"epsilon": 2, "delta": 1e-5, "parallel": True}
    ledger = None
    if rank == 0:
        ledger = Ledger(folder / "ledger.db", state=folder / "state")
        ledger.open_population("people", Budget(6, 1e-3), plans=Budget(5, 5e-4), by="board", why="a test")

    still = torch.nn.Linear(100, SIZE // 100, bias=False)
    still.weight.data.zero_()
    quiet = PrivateTrainer(
        still,
        torch.nn.MSELoss(),
        **price,
        max_iter=1,
        batch_size=50,
        momentum=0,
        learning_rate=1,
        tail=0,
        account=ledger,
    ).fit(torch.zeros(150 + 50 * rank, 100), torch.zeros(150 + 50 * rank, SIZE // 100))

    torch.manual_seed(rank)  # both begin elsewhere, and go on from where the first one is
    x = torch.randn(400, 3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    fitted = PrivateTrainer(model, torch.nn.CrossEntropyLoss(), **price, max_iter=25, batch_size=200, account=ledger)
    fitted.fit(x, (x[:, 0] > 0).long())
    accuracy = fitted.evaluate(x, (x[:, 0] > 0).long()).accuracy
    assert accuracy is not None

    refused = False
    try:
        PrivateTrainer(model, torch.nn.CrossEntropyLoss(), **price, max_iter=2, batch_size=200, account=ledger).fit(
            x, (x[:, 0] > 0).long()
        )
    except BudgetExceeded:
        refused = True
    step = next(iter(quiet.event_.steps()))
    np.savez(
        folder / f"{rank}.npz",
        still=still.weight.detach().numpy(),
        model=np.concatenate([p.detach().numpy().ravel() for p in model.parameters()]),
        promised=float(step.sigma) / 50,  # type: ignore[attr-defined]
        rate=float(quiet.event_.event.rate),  # type: ignore[attr-defined]
        accuracy=accuracy,
        refused=refused,
        charged=quiet.receipt_ is not None,
    )
    if ledger is not None:
        ledger.close()
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, np.ndarray]]:
    folder = tmp_path_factory.mktemp("team")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    team = [
        subprocess.Popen(
            [sys.executable, __file__, str(rank), str(folder)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    told = [process.communicate(timeout=300)[1] for process in team]
    assert [process.returncode for process in team] == [0, 0], "\n".join(told)
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(2)]


def test_noise_is_added_once(ends: list[dict[str, np.ndarray]]) -> None:
    """All gradients are zero, so the weights are noise: 6,000 numbers, standard error 1 per cent; twice is 41 more."""
    found = float(np.std(ends[0]["still"])) / float(ends[0]["promised"])
    assert found == pytest.approx(1, abs=0.04)
    assert np.sqrt(2) - 1 > 0.04  # what two shares of full noise would be


def test_the_sample_is_of_the_union(ends: list[dict[str, np.ndarray]]) -> None:
    assert float(ends[0]["rate"]) == 50 / 350


def test_processes_stay_in_step(ends: list[dict[str, np.ndarray]]) -> None:
    for what in ("still", "model"):
        assert np.array_equal(ends[0][what], ends[1][what])
    assert min(float(end["accuracy"]) for end in ends) > 0.85


def test_the_leader_charges_and_a_refusal_reaches_everybody(ends: list[dict[str, np.ndarray]]) -> None:
    assert [bool(end["charged"]) for end in ends] == [True, True]
    assert [bool(end["refused"]) for end in ends] == [True, True]


if __name__ == "__main__":
    work(int(sys.argv[1]), Path(sys.argv[2]))
