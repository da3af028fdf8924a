"""PrivateTrainer: a torch model, a loss and a promise."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hubbub.learn.base.jobs import FitJob, job_facts, release_fit
from hubbub.learn.base.parameters import account_of
from hubbub.learn.torch.checkpoints import TrainingState, attempted, begin
from hubbub.learn.torch.example_independence import evaluating
from hubbub.learn.torch.examples import inputs_of, target_of
from hubbub.learn.torch.identity import weights_digest
from hubbub.learn.torch.losses import per_example
from hubbub.learn.torch.process_group import Alone, team_of
from hubbub.learn.torch.settings import Settings
from hubbub.learn.torch.training import TrainableWeights, put, train, vector_of
from hubbub.learn.torch.training_plan import TorchPlan, prepare
from hubbub.learn.training.network import Floats
from hubbub.ledger import fingerprint
from hubbub.releases import JobFacts
from hubbub.terms import Guarantee, HubbubError, Receipt, Repeat, Unit


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model does on some rows: the mean loss, and the share of right classes where targets are classes."""

    loss: float
    accuracy: float | None
    rows: int


class PrivateTrainer(Settings):
    """Trains a torch model privately and in place: each example's gradient is clipped, and sums get noise.

    ``model`` is a torch module whose first dimension is the batch; parameters that need no gradient stay as they are.
    ``loss`` compares outputs with targets. ``epochs`` or ``max_iter`` (steps) and the expected ``batch_size`` say how
    long; ``clip`` is the clipping norm, or an ``AdaptiveClip``. ``optimizer`` makes a torch optimizer from parameters
    (else it is SGD with ``learning_rate`` and ``momentum``), and the answer is the average over the last ``tail`` of
    the steps. ``physical`` examples are in memory at a time. ``account`` is charged before data is read. With
    ``checkpoint`` a run that died goes on, under the same charge. The weights that the model comes with count as
    public, and a second ``fit`` begins with them again. ``parallel`` trains with the other processes of
    torch.distributed.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one example and rounding in
    float32 moves no sum beyond the allowance for it.
    Because: [ACGMMTZ16, Alg. 1] accounted by loss distributions [ZDW22]; ``docs/proofs/networks.md``.
    Error: none is promised; on public rows, ``evaluate`` tells.
    Not covered: rounding in float32; running time; the number of rows, where ``rows`` is not declared; a model that
    mixes examples only for inputs unlike those that the check makes up.

    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(2000, 2); y = (X[:, 0] > 0).long()
    >>> trainer = PrivateTrainer(torch.nn.Linear(2, 2), torch.nn.CrossEntropyLoss(), epsilon=2, delta=1e-5)
    >>> trainer.fit(X, y).evaluate(X, y).accuracy > 0.9
    True
    """

    guarantee_: Guarantee
    event_: Repeat
    receipt_: Receipt | None
    way_: str
    _came: tuple[torch.nn.Module, dict[str, Tensor]] | None = None

    def fit(self, X: Any, y: Any = None, *, watch: Callable[[int], None] = lambda step: None) -> Self:
        """Train on arrays, or on a map-style dataset; ``watch`` is told the number of each step done."""
        team = team_of(self.parallel)
        made = prepare(self, X, y, team)
        path = None if self.checkpoint is None or not team.leads else Path(self.checkpoint)
        start, steps = self._beginning(), made.course.run.times
        named = {} if self.dataset is None else {"dataset": self.dataset}  # a state is of one run on one data set
        fresh = TrainingState(fingerprint(**made.parts, **named), start, start, made.course.clip.start)
        state: TrainingState = team.told(begin(path, fresh, steps=steps) if team.leads else None)

        def run() -> Floats:
            if state.step < steps:
                attempted(path, state)
            model, rows = TrainableWeights(made.way, self.make_optimizer()), made.source.open()
            save = (lambda state: state.write(path)) if path is not None else (lambda state: None)
            return train(made.course, model, rows, len(made.source), state=state, team=team, save=save, watch=watch)

        weights = start  # what a run that died has learnt is not left behind, for another to begin with
        try:
            weights, receipt = self._charged(made, team, state, run)
        finally:
            put(self._trained(), weights)
        caveats = self.caveats(charged=receipt is not None)
        self.guarantee_ = Guarantee(made.holds, Unit(self.unit), made.neighbours, caveats)
        self.event_, self.receipt_, self.way_ = made.course.run, receipt, type(made.way).__name__
        return self

    def _beginning(self) -> Floats:
        """The weights as the model came: what an earlier fit learnt is no public place to begin at."""
        if self._came is None or self._came[0] is not self.model:
            self._came = self.model, {name: each.detach().clone() for name, each in self.model.named_parameters()}
        return vector_of(self._came[1][name] for name, each in self.model.named_parameters() if each.requires_grad)

    def _trained(self) -> list[Tensor]:
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def _charged(
        self, made: TorchPlan, team: Alone, state: TrainingState, run: Callable[[], Floats]
    ) -> tuple[Floats, Receipt | None]:
        """What ``run`` gives, charged by the leader; the others run when it says so."""
        if not team.leads:
            word = team.told(None)
            if isinstance(word, HubbubError):
                raise word
            if word == "run":
                run()
            weights, receipt = team.told(None)
            return weights, receipt
        said: list[str] = []

        def led() -> Floats:
            said.append(team.told("run"))
            return run()

        try:
            found = release_fit(FitJob(self._facts(made, state), led), account_of(self.account, self.population))
        except HubbubError as error:
            if not said:
                team.told(error)
            raise
        if not said:
            team.told("stored")
        team.told(found)
        return found

    def _facts(self, made: TorchPlan, state: TrainingState) -> JobFacts:
        return job_facts(
            made.course.run,
            delta=made.holds.delta,
            size=len(state.weights),
            dataset=self.dataset or "",
            job="train",
            identity={"network": fingerprint(**made.parts), **self._own(state)},
            title=f"train {type(self.model).__name__}",
        )

    def _own(self, state: TrainingState) -> dict[str, object]:
        """What makes this run another than others: where it begins; or a token, with a file that others may read."""
        if self.dataset is not None and self.checkpoint is None:
            return {"start": weights_digest(state.weights)}
        return {"token": state.token}

    # ------------------------------------------------------------ after training

    def outputs(self, X: Any) -> Tensor:
        """The model's outputs, in evaluation mode."""
        inputs = inputs_of(X, self._trained()[0].dtype)
        with torch.no_grad(), evaluating(self.model):
            parts = [
                self.model(*(x[i : i + self.physical] for x in inputs)) for i in range(0, len(inputs[0]), self.physical)
            ]
        return torch.cat(parts)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row (its place among the outputs), or the output itself if there is one."""
        found = self.outputs(X)
        return np.asarray((found.argmax(1) if found.dim() > 1 and found.shape[1] > 1 else found).cpu().numpy())

    def evaluate(self, X: Any, y: Any) -> Evaluation:
        """Loss and accuracy on rows; on private rows these are private numbers."""
        found, targets = self.outputs(X), target_of(y, self._trained()[0].dtype)
        losses = per_example(self.loss, found, targets)(found, targets)
        classes = not targets.is_floating_point() and found.dim() == 2 and found.shape[1] > 1
        accuracy = float((found.argmax(1) == targets).double().mean()) if classes else None
        return Evaluation(float(losses.double().mean()), accuracy, len(targets))
