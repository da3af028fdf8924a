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
from hubbub.learn.torch.checkpoints import TrainingState, record_attempt, starting_state
from hubbub.learn.torch.example_independence import evaluation_mode
from hubbub.learn.torch.examples import ExampleData, TensorLike, inputs_of, target_of
from hubbub.learn.torch.identity import weights_digest
from hubbub.learn.torch.losses import per_example
from hubbub.learn.torch.process_group import Alone, team_of
from hubbub.learn.torch.settings import Settings
from hubbub.learn.torch.training import TrainableWeights, train, vector_of, write_weights
from hubbub.learn.torch.training_plan import TorchPlan, plan_training
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

    def fit(
        self, X: ExampleData, y: TensorLike | None = None, *, watch: Callable[[int], None] = lambda step: None
    ) -> Self:
        """Train on arrays, or on a map-style dataset; ``watch`` is told the number of each step done."""
        team = team_of(self.parallel)
        plan = plan_training(self, X, y, team)
        path = None if self.checkpoint is None or not team.leads else Path(self.checkpoint)
        start, steps = self._beginning(), plan.course.run.times
        named = {} if self.dataset is None else {"dataset": self.dataset}  # a state is of one run on one data set
        fresh = TrainingState(fingerprint(**plan.parts, **named), start, start, plan.course.clip.start)
        state: TrainingState = team.broadcast(starting_state(path, fresh, steps=steps) if team.leads else None)

        def run() -> Floats:
            if state.step < steps:
                record_attempt(path, state)
            model, rows = TrainableWeights(plan.way, self.make_optimizer()), plan.source.open()
            save = (lambda state: state.write(path)) if path is not None else (lambda state: None)
            return train(plan.course, model, rows, len(plan.source), state=state, team=team, save=save, watch=watch)

        weights = start  # what a run that died has learnt is not left behind, for another to begin with
        try:
            weights, receipt = self._charged(plan, team, state, run)
        finally:
            write_weights(self._trained(), weights)
        caveats = self.caveats(charged=receipt is not None)
        self.guarantee_ = Guarantee(plan.holds, Unit(self.unit), plan.neighbours, caveats)
        self.event_, self.receipt_, self.way_ = plan.course.run, receipt, type(plan.way).__name__
        return self

    def _beginning(self) -> Floats:
        """The weights as the model came: what an earlier fit learnt is no public place to begin at."""
        if self._came is None or self._came[0] is not self.model:
            self._came = self.model, {name: each.detach().clone() for name, each in self.model.named_parameters()}
        return vector_of(self._came[1][name] for name, each in self.model.named_parameters() if each.requires_grad)

    def _trained(self) -> list[Tensor]:
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def _charged(
        self, plan: TorchPlan, team: Alone, state: TrainingState, run: Callable[[], Floats]
    ) -> tuple[Floats, Receipt | None]:
        """What ``run`` gives, charged by the leader; the others run when it says so."""
        if not team.leads:
            word = team.broadcast(None)
            if isinstance(word, HubbubError):
                raise word
            if word == "run":
                run()
            weights, receipt = team.broadcast(None)
            return weights, receipt
        words: list[str] = []

        def led() -> Floats:
            words.append(team.broadcast("run"))
            return run()

        try:
            released = release_fit(FitJob(self._facts(plan, state), led), account_of(self.account, self.population))
        except HubbubError as error:
            if not words:
                team.broadcast(error)
            raise
        if not words:
            team.broadcast("stored")
        team.broadcast(released)
        return released

    def _facts(self, plan: TorchPlan, state: TrainingState) -> JobFacts:
        return job_facts(
            plan.course.run,
            delta=plan.holds.delta,
            size=len(state.weights),
            dataset=self.dataset or "",
            job="train",
            identity={"network": fingerprint(**plan.parts), **self._own(state)},
            title=f"train {type(self.model).__name__}",
        )

    def _own(self, state: TrainingState) -> dict[str, object]:
        """What makes this run another than others: where it begins; or a token, with a file that others may read."""
        if self.dataset is not None and self.checkpoint is None:
            return {"start": weights_digest(state.weights)}
        return {"token": state.token}

    # ------------------------------------------------------------ after training

    def outputs(self, X: TensorLike | tuple[TensorLike, ...]) -> Tensor:
        """The model's outputs, in evaluation mode."""
        inputs = inputs_of(X, self._trained()[0].dtype)
        with torch.no_grad(), evaluation_mode(self.model):
            parts = [
                self.model(*(x[i : i + self.physical] for x in inputs)) for i in range(0, len(inputs[0]), self.physical)
            ]
        return torch.cat(parts)

    def predict(self, X: TensorLike | tuple[TensorLike, ...]) -> NDArray[Any]:
        """The likeliest class of each row (its place among the outputs), or the output itself if there is one."""
        outputs = self.outputs(X)
        return np.asarray((outputs.argmax(1) if outputs.dim() > 1 and outputs.shape[1] > 1 else outputs).cpu().numpy())

    def evaluate(self, X: TensorLike | tuple[TensorLike, ...], y: TensorLike) -> Evaluation:
        """Loss and accuracy on rows; on private rows these are private numbers."""
        outputs, targets = self.outputs(X), target_of(y, self._trained()[0].dtype)
        losses = per_example(self.loss, outputs, targets)(outputs, targets)
        classes = not targets.is_floating_point() and outputs.dim() == 2 and outputs.shape[1] > 1
        accuracy = float((outputs.argmax(1) == targets).double().mean()) if classes else None
        return Evaluation(float(losses.double().mean()), accuracy, len(targets))
