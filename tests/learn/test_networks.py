"""PrivateTrainer: charged once and first, noise once and of the right size, and clear refusals before a charge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, TensorDataset

from hubbub.accounting import epsilon
from hubbub.learn.torch import AdaptiveClip, PrivateTrainer, adapter, compacter, lora, merge
from hubbub.learn.torch.adapters import Kronecker
from hubbub.learn.torch.checkpoints import TrainingState
from hubbub.learn.torch.clipping import FixedClip
from hubbub.learn.torch.examples import source_of
from hubbub.learn.torch.gradients import Recorded
from hubbub.learn.torch.layer_gradients import squares_of
from hubbub.learn.torch.process_group import Alone
from hubbub.learn.torch.training import Course, Momentum, TrainableWeights, clipped_vector, train, vector_of
from hubbub.learn.torch.training_plan import plan_training
from hubbub.learn.training.calibration import run_with_noise
from hubbub.learn.training.sampling import FullBatch, PoissonBatch, step_of
from hubbub.ledger import Ledger
from hubbub.noise.testing import seeded
from hubbub.terms import (
    Budget,
    BudgetExceeded,
    EmptyInput,
    GaussianNoise,
    HubbubError,
    MechanismExhausted,
    MissingParameter,
    MixesPeople,
    Neighbours,
    OutOfRange,
    Poisson,
    Repeat,
    RequestChanged,
    Unreadable,
    WrongShape,
)

torch.set_num_threads(1)
PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
LOSS = nn.CrossEntropyLoss()


def data(rows: int = 600) -> tuple[Tensor, Tensor]:
    """Points whose class is the sign of their first coordinate."""
    x = torch.randn(rows, 3, generator=torch.Generator().manual_seed(1))
    return x, (x[:, 0] > 0).long()


def small(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def trainer(model: nn.Module | None = None, **more: Any) -> PrivateTrainer:
    return PrivateTrainer(model or small(), LOSS, **{**PRICE, "max_iter": 10, "batch_size": 100, **more})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(6, 1e-3), plans=Budget(2.5, 5e-4), by="board", why="a test")
        yield opened


def spent(ledger: Ledger) -> int:
    return len(list(ledger.log()))


def charges(ledger: Ledger) -> int:
    return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())


# ------------------------------------------------------------ learning


def test_it_learns_in_place_and_says_what_holds() -> None:
    x, y = data(3000)
    model = small()
    fitted = PrivateTrainer(model, LOSS, epsilon=3, delta=1e-5, batch_size=300, max_iter=100).fit(x, y)
    assert fitted.evaluate(x, y).accuracy > 0.95  # type: ignore[operator]
    assert fitted.model is model
    assert (fitted.predict(x) == y.numpy()).mean() > 0.95
    assert fitted.way_ == "Recorded"
    assert fitted.receipt_ is None
    words = fitted.guarantee_.describe()
    assert "epsilon = 3, delta = 1e-05" in words
    assert "not proved" in words
    assert "Charged to no ledger" in words


def test_a_second_fit_begins_where_the_first_began() -> None:
    """What the first has learnt is not covered by what the second promises."""
    x, y = data()
    fitted = trainer(learning_rate=1e-6).fit(x, y)  # too slow to get anywhere in ten steps
    begun = vector_of(small().parameters())
    fitted.learning_rate = 10.0
    far = vector_of(fitted.fit(x, y).model.parameters())
    assert np.abs(far - begun).max() > 0.1
    fitted.learning_rate = 1e-6
    assert np.allclose(vector_of(fitted.fit(x, y).model.parameters()), begun, atol=1e-3)


def test_a_run_that_died_leaves_the_model_as_it_came() -> None:
    x, y = data()
    model = small()
    with pytest.raises(Died):
        trainer(model).fit(x, y, watch=dying(2))
    assert np.array_equal(vector_of(model.parameters()), vector_of(small().parameters()))


def test_the_event_costs_what_was_promised_and_is_sampled_as_it_says() -> None:
    x, y = data()
    fitted = trainer().fit(x, y)
    assert isinstance(fitted.event_.event, Poisson)
    assert fitted.event_.event.rate == Fraction(1, 6)
    assert fitted.event_.times == 10
    assert 0.98 <= float(epsilon(fitted.event_, delta=Fraction(1, 10**5), neighbours=Neighbours.ADD_REMOVE)) <= 1
    assert step_of(fitted.event_).sensitivity >= 1  # sums are in units of the clipping norm


def test_a_dataset_and_arrays_are_the_same_to_it() -> None:
    x, y = data(200)

    class Items(Dataset[tuple[Tensor, int]]):
        def __len__(self) -> int:
            return len(x)

        def __getitem__(self, i: int) -> tuple[Tensor, int]:
            return x[i], int(y[i])

    sources = [
        source_of(x.numpy().astype(np.float64), y.numpy(), example=None, dtype=torch.float32, classes=2),
        source_of(TensorDataset(x, y), None, example=None, dtype=torch.float32, classes=2),
        source_of(Items(), None, example=(x[0], 1), dtype=torch.float32, classes=2),
    ]
    rows = np.array([5, 2, 199])
    for source in sources:
        (found,), targets = source.open().take(rows)
        assert torch.allclose(found, x[rows])
        assert torch.equal(targets, y[rows])
        assert source.inputs[0].shape == (3,)
    trainer(example=(torch.zeros(3), 1)).fit(Items())


def test_several_inputs_reach_the_model() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return self.left(a) + self.right(b)

    x, y = data()
    fitted = trainer(Two()).fit((x, x + 1), y)
    assert fitted.predict((x, x + 1)).shape == (600,)


def test_any_torch_optimizer_will_do() -> None:
    x, y = data()
    model = small()
    before = vector_of(model.parameters())
    trainer(model, optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.01)).fit(x, y)
    assert 0 < np.abs(vector_of(model.parameters()) - before).max() < 0.2


def test_the_plain_optimizer_is_that_of_torch() -> None:
    ours, theirs = (torch.tensor([1.0, -2.0]) for _ in range(2))
    mine, torch_own = Momentum([ours], rate=0.3, momentum=0.8), torch.optim.SGD([theirs], lr=0.3, momentum=0.8)
    for step in range(4):
        ours.grad = theirs.grad = torch.tensor([0.5 * step, 1.0])
        mine.step()
        torch_own.step()
    assert torch.allclose(ours, theirs)


# ------------------------------------------------------------ sums and noise


def course(size: int, *, sampling: Any = None, steps: int = 1, **more: Any) -> Course:
    run = run_with_noise(
        sampling=sampling or FullBatch(), steps=steps, clip=1.0, error=1e-9, size=size, multiplier=Fraction(2)
    )
    return Course(**{"run": run, "clip": FixedClip(1.0), "expected": 100.0, "physical": 256, "tail": 0.0, **more})


def recorded(model: nn.Module) -> Recorded:
    names = tuple(name for name, _ in model.named_parameters())
    return Recorded(model.requires_grad_(False), lambda o, t: functional.cross_entropy(o, t, reduction="none"), names)


def test_small_physical_batches_add_up_to_the_large_one() -> None:
    x, y = data(100)
    way = recorded(small())
    rows = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()
    sums = [clipped_vector(course(26, physical=p), way, rows, np.arange(100), 0.3) for p in (1, 7, 100)]
    assert np.abs(sums[0]).max() > 1
    for other in sums[1:]:
        assert np.allclose(sums[0], other, atol=1e-4)


def test_an_adaptive_vector_has_length_at_most_one_and_counts() -> None:
    x, y = data(40)
    way = recorded(small())
    rows = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()
    with_count = course(27, clip=AdaptiveClip(noise=0.04))
    assert 0.2 < with_count.share < 0.5
    whole = clipped_vector(with_count, way, rows, np.arange(40), 0.5)
    moved = [
        float(np.linalg.norm(whole - clipped_vector(with_count, way, rows, np.delete(np.arange(40), i), 0.5)))
        for i in range(40)
    ]
    assert 0.999 < max(moved) <= 1 + 1e-6
    norms = way.clipped_sum((x,), y, clip=0.5).norms
    assert whole[-1] / (2 * with_count.share) == pytest.approx(float((norms <= 0.5).sum()) - 20)


def test_an_adaptive_norm_finds_the_median() -> None:
    x, y = data(2000)
    way = recorded(small())
    rows = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()
    plan = course(27, clip=AdaptiveClip(start=50.0), steps=60, expected=2000.0)
    start = vector_of(way.model.parameters())
    kept: list[TrainingState] = []
    still = TrainableWeights(way, lambda parameters: Momentum(parameters, rate=0.0, momentum=0.0))
    plan = replace(plan, every=60)
    train(plan, still, rows, 2000, state=TrainingState("", start, start, 50.0), save=kept.append, rng=seeded(0))
    median = float(way.clipped_sum((x,), y, clip=1.0).norms.median())
    assert kept[-1].clip == pytest.approx(median, rel=0.2)


def noise_in(sigma: float, *, steps: int = 1, sampling: Any = None) -> float:
    """The standard deviation of what a run adds to weights where all gradients are zero, over the one promised."""
    way = Recorded(
        nn.Linear(100, 60, bias=False).requires_grad_(False), lambda o, t: (o - t).square().sum(1), ("weight",)
    )
    way.model.weight.data.zero_()
    rows = source_of(torch.zeros(50, 100), torch.zeros(50, 60), example=None, dtype=torch.float32, classes=None).open()
    plan = course(6000, sampling=sampling, steps=steps)
    promised = float(step_of(plan.run).sigma)
    step = replace(step_of(plan.run), sigma=step_of(plan.run).sigma * Fraction(sigma).limit_denominator(100))
    event = Poisson(step, sampling.rate) if sampling else step
    plan = replace(plan, run=Repeat(event, steps))
    start = np.zeros(6000)
    model = TrainableWeights(way, lambda parameters: Momentum(parameters, rate=1.0, momentum=0.0))
    found = train(plan, model, rows, 50, state=TrainingState("", start, start, 1.0), rng=seeded(7))
    return float(np.std(found)) * 100.0 / (promised * math.sqrt(steps))


def test_noise_has_the_size_of_the_event() -> None:
    """The standard error is 1 in 110; one in 10,000 runs of a right sampler would miss 3.6 per cent."""
    assert noise_in(1.0) == pytest.approx(1, abs=0.036)
    assert noise_in(1.0, steps=3, sampling=PoissonBatch(Fraction(1, 10))) == pytest.approx(1, abs=0.036)
    for off in (0.9, 1.1):
        assert abs(noise_in(off) - 1) > 0.05


def test_empty_poisson_batches_are_fine() -> None:
    x, y = data(20)
    fitted = trainer(batch_size=1, max_iter=40).fit(x, y)
    assert np.isfinite(vector_of(fitted.model.parameters())).all()


def test_the_answer_is_the_average_of_the_last_weights() -> None:
    x, y = data(50)
    rows = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()

    def run(tail: float, seen: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
        model = TrainableWeights(recorded(small()), lambda parameters: Momentum(parameters, rate=0.1, momentum=0.9))
        start = model.weights
        plan = course(26, steps=8, tail=tail)
        state = TrainingState("", start, start, 1.0)
        return train(plan, model, rows, 50, state=state, rng=seeded(3), watch=lambda step: seen.append(model.weights))

    seen: list[np.ndarray[Any, Any]] = []
    assert np.allclose(run(0.25, seen), np.mean(seen[6:], axis=0))
    assert np.allclose(run(0.0, []), seen[7])


def test_examples_of_an_unknown_class_or_without_numbers_contribute_nothing() -> None:
    x, y = data(200)
    x[3], y[5] = float("nan"), 7
    fitted = trainer(classes=2, rows=200).fit(x, y)
    assert np.isfinite(vector_of(fitted.model.parameters())).all()
    assert "number of rows" not in fitted.guarantee_.describe()


# ------------------------------------------------------------ charges


class Untouchable:
    """Data that may not be read yet."""

    def __init__(self, values: Tensor, ledger: Ledger) -> None:
        self.shape, self.dtype = tuple(values.shape), np.dtype(np.float32)
        self.values, self.ledger, self.entries = values, ledger, [spent(ledger)]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        self.entries.append(spent(self.ledger))
        return self.values.numpy()


def test_the_ledger_is_charged_before_data_is_read_and_holds_the_model(ledger: Ledger) -> None:
    x, y = data()
    watched = Untouchable(x, ledger)
    fitted = trainer(account=ledger).fit(watched, y)
    before, *reads = watched.entries
    assert reads
    assert min(reads) > before
    assert fitted.receipt_ is not None
    assert "ledger" not in fitted.guarantee_.describe()


def test_the_same_named_fit_is_free_and_gives_the_same_model(ledger: Ledger) -> None:
    x, y = data()
    first = trainer(account=ledger, dataset="points 1").fit(x, y)
    entries = spent(ledger)
    second = trainer(account=ledger, dataset="points 1").fit(x, y)
    assert spent(ledger) == entries
    assert np.array_equal(vector_of(first.model.parameters()), vector_of(second.model.parameters()))
    trainer(account=ledger).fit(x, y)
    assert spent(ledger) > entries  # without a name it is another run


def test_a_run_beyond_the_budget_reads_nothing(ledger: Ledger) -> None:
    x, y = data()
    watched, model = Untouchable(x, ledger), small()
    start = vector_of(model.parameters())
    with pytest.raises(BudgetExceeded):
        trainer(model, account=ledger, epsilon=5, sampling="full").fit(watched, y)
    assert len(watched.entries) == 1
    assert np.array_equal(vector_of(model.parameters()), start)


class Died(BaseException):
    """A process that ended in the middle."""


def dying(at: int) -> Any:
    def watch(step: int) -> None:
        if step == at:
            raise Died

    return watch


def test_a_run_that_died_goes_on_under_its_charge(ledger: Ledger, tmp_path: Path) -> None:
    x, y = data()
    path = tmp_path / "run.state"
    model = small()
    with pytest.raises(Died):
        trainer(model, account=ledger, checkpoint=path, every=3).fit(x, y, watch=dying(8))
    assert np.array_equal(vector_of(model.parameters()), vector_of(small().parameters()))  # nobody saw a weight
    assert TrainingState.read(path).step == 6
    steps: list[int] = []
    fitted = trainer(small(1), account=ledger, checkpoint=path, every=3).fit(x, y, watch=steps.append)
    assert steps == [7, 8, 9, 10]
    assert fitted.receipt_ is not None
    assert charges(ledger) == 1
    again = trainer(small(2), account=ledger, checkpoint=path, every=3).fit(x, y, watch=steps.append)
    assert len(steps) == 4  # it is done: the stored model is given
    assert np.array_equal(vector_of(again.model.parameters()), vector_of(fitted.model.parameters()))


def test_nobody_may_try_again_and_again_from_the_same_step(tmp_path: Path) -> None:
    x, y = data()
    for _ in range(3):
        with pytest.raises(Died):
            trainer(checkpoint=tmp_path / "a", every=5).fit(x, y, watch=dying(2))
    with pytest.raises(MechanismExhausted, match="3 times"):
        trainer(checkpoint=tmp_path / "a", every=5).fit(x, y)


def test_a_refused_charge_is_no_attempt(ledger: Ledger, tmp_path: Path) -> None:
    x, y = data()
    for _ in range(4):
        with pytest.raises(BudgetExceeded):
            trainer(account=ledger, epsilon=5, checkpoint=tmp_path / "a").fit(x, y)
    assert TrainingState.read(tmp_path / "a").attempts == 0


def test_a_finished_run_is_given_again_without_a_ledger_too(tmp_path: Path) -> None:
    x, y = data()
    first = trainer(checkpoint=tmp_path / "a", every=3).fit(x, y)
    for seed in range(4):
        again = trainer(small(seed), checkpoint=tmp_path / "a", every=3).fit(x, y)
        assert np.array_equal(vector_of(again.model.parameters()), vector_of(first.model.parameters()))


def test_a_lost_file_is_a_new_charge_even_for_a_named_fit(ledger: Ledger, tmp_path: Path) -> None:
    """Somebody may have read the weights in it."""
    x, y = data()
    for _ in range(2):
        with pytest.raises(Died):
            trainer(account=ledger, dataset="points 1", checkpoint=tmp_path / "a").fit(x, y, watch=dying(8))
        (tmp_path / "a").unlink()
    assert charges(ledger) == 2


def test_a_resumed_optimizer_remembers() -> None:
    x, y = data(50)
    rows = source_of(x, y, example=None, dtype=torch.float32, classes=None).open()
    plan = course(26, steps=6, every=3)

    def fresh() -> TrainableWeights:
        return TrainableWeights(recorded(small()), lambda parameters: Momentum(parameters, rate=0.1, momentum=0.9))

    kept: list[TrainingState] = []
    model = fresh()
    start = model.weights
    rng = seeded(3)
    quiet = replace(plan, run=Repeat(replace(step_of(plan.run), sigma=Fraction(1, 10**6)), 6))
    whole = train(quiet, model, rows, 50, state=TrainingState("", start, start, 1.0), save=kept.append, rng=rng)
    resumed = train(quiet, fresh(), rows, 50, state=kept[0], rng=seeded(4))
    assert np.allclose(whole, resumed, atol=1e-4)
    forgetful = train(quiet, fresh(), rows, 50, state=replace(kept[0], optimizer={}), rng=seeded(4))
    assert not np.allclose(whole, forgetful, atol=1e-3)


def test_a_state_of_another_run_is_refused(tmp_path: Path) -> None:
    x, y = data()
    trainer(checkpoint=tmp_path / "a").fit(x, y)
    with pytest.raises(RequestChanged):
        trainer(checkpoint=tmp_path / "a", max_iter=11).fit(x, y)
    (tmp_path / "b").write_text("something else")
    with pytest.raises(Unreadable):
        trainer(checkpoint=tmp_path / "b").fit(x, y)


# ------------------------------------------------------------ refusals


class Broken(nn.Module):
    """A model that does not fit its data."""

    def forward(self, values: Tensor) -> Tensor:
        return values @ torch.zeros(9, 2)


X, Y = data(60)
REFUSED: list[tuple[dict[str, Any], type[HubbubError], str]] = [
    ({"epsilon": None}, MissingParameter, "needs epsilon"),
    ({"delta": None}, MissingParameter, "needs delta"),
    ({"clip": None}, HubbubError, "clip"),
    ({"clip": "adaptive"}, OutOfRange, "AdaptiveClip"),
    ({"clip": 0}, OutOfRange, "clip"),
    ({"epochs": 3}, MissingParameter, "both say how long"),
    ({"tail": 2}, OutOfRange, "tail"),
    ({"momentum": 1.0}, OutOfRange, "momentum"),
    ({"physical": 0}, OutOfRange, "physical"),
    ({"sampling": "shuffle"}, OutOfRange, "sampling"),
    ({"sampling": "fixed"}, HubbubError, "add-remove"),
    ({"parallel": True}, MissingParameter, "init_process_group"),
    ({"loss": lambda o, t: 1.0}, WrongShape, "loss="),
    ({"model": small().requires_grad_(False)}, EmptyInput, "no parameter"),
    ({"model": nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))}, MixesPeople, "BatchNorm|buffer"),
    ({"model": nn.Sequential(nn.Linear(3, 2), Broken())}, WrongShape, "made-up batch"),
    ({"model": 3}, WrongShape, "torch module"),
    ({"model": nn.Linear(3, 2, device="meta")}, OutOfRange, "processor"),
]


@pytest.mark.parametrize(("change", "kind", "told"), REFUSED, ids=[next(iter(c)) for c, _, _ in REFUSED])
def test_bad_settings_are_refused_before_a_charge(
    change: dict[str, Any], kind: type[HubbubError], told: str, ledger: Ledger
) -> None:
    entries = spent(ledger)
    wanted = {"model": small(), "loss": LOSS, **PRICE, "max_iter": 3, "batch_size": 20, "account": ledger, **change}
    with pytest.raises(kind, match=told):
        PrivateTrainer(wanted.pop("model"), wanted.pop("loss"), **wanted).fit(X, Y)
    assert spent(ledger) == entries


@pytest.mark.parametrize(
    "odd", [torch.tensor(77), torch.tensor(-1), torch.tensor(2**40)], ids=["too large", "negative", "huge"]
)
def test_no_target_makes_training_fail_also_where_classes_are_not_declared(odd: Tensor) -> None:
    y = Y.clone()
    y[3] = odd
    plain, strange = (trainer(batch_size=100, max_iter=3).fit(X, labels) for labels in (Y, y))
    assert plain.guarantee_ == strange.guarantee_ and plain.event_ == strange.event_
    assert all(bool(torch.isfinite(p).all()) for p in strange.model.parameters())


def test_a_state_of_another_data_set_is_refused(tmp_path: Path) -> None:
    """Else the second data set would get the model of the first."""
    given = {"checkpoint": tmp_path / "state", "max_iter": 2, "every": 1}
    trainer(dataset="a", **given).fit(X, Y)
    with pytest.raises(RequestChanged):
        trainer(dataset="b", **given).fit(X, Y)


@pytest.mark.parametrize(
    "form", [np.ma.masked_less(X.numpy(), 0), pandas.DataFrame(X.numpy()), [[1.0], [2.0, 3.0]], "abc", None]
)
def test_what_is_no_plain_array_is_refused(form: Any) -> None:
    with pytest.raises(HubbubError):
        trainer().fit(form, Y)


def test_a_token_that_the_model_does_not_know_adds_nothing() -> None:
    words = torch.randint(0, 9, (200, 4))
    words[7, 1] = 1000
    model = nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(12, 2))
    made = PrivateTrainer(model, LOSS, **PRICE, max_iter=2, batch_size=100, sampling="full").fit(words, words[:, 0] % 2)
    assert all(bool(torch.isfinite(p).all()) for p in made.model.parameters())


class Stream(torch.utils.data.IterableDataset[Any]):
    """Items in an order of its own."""

    def __iter__(self) -> Iterator[Any]:
        return iter(zip(X, Y, strict=True))


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        ((DataLoader(TensorDataset(X, Y), batch_size=10, shuffle=True),), WrongShape, "DataLoader"),
        ((Stream(),), WrongShape, "stream"),
        ((torch.utils.data.Subset(TensorDataset(X, Y), [0, 1]),), MissingParameter, "example="),
        ((X,), MissingParameter, "needs y"),
        ((X, Y[:10]), WrongShape, "different numbers of rows"),
        ((X[:0], Y[:0]), EmptyInput, "no examples"),
    ],
)
def test_bad_data_is_refused_before_a_charge(
    given: tuple[Any, ...], kind: type[HubbubError], told: str, ledger: Ledger
) -> None:
    entries = spent(ledger)
    with pytest.raises(kind, match=told):
        trainer(account=ledger).fit(*given)
    assert spent(ledger) == entries


def test_nobody_is_told_whether_a_declared_number_was_right() -> None:
    declared = trainer(rows=20, batch_size=10, max_iter=3)
    runs = [declared.fit(X[:n], Y[:n]).event_ for n in (0, 40, 41, 100)]
    assert len(set(map(repr, runs))) == 1


def test_replace_neighbours_cost_more_noise() -> None:
    one, other = (
        plan_training(trainer(neighbours=relation, sampling="full", max_iter=3), X, Y, Alone()).course.run
        for relation in ("add-remove", "replace")
    )
    assert isinstance(one.event, GaussianNoise)
    assert step_of(other).sigma > 1.8 * step_of(one).sigma


# ------------------------------------------------------------ fine-tuning


@pytest.mark.parametrize("tune", [lambda m: lora(m, rank=2, train=("2",)), lambda m: adapter(m, width=3)])
def test_a_tuned_model_starts_as_the_model_and_trains_few_numbers(tune: Any) -> None:
    model = small()
    tuned = tune(model)
    assert torch.allclose(model(X), tuned(X))
    frozen = {n: p.clone() for n, p in tuned.named_parameters() if not p.requires_grad}
    assert frozen
    x, y = data(2000)
    fitted = PrivateTrainer(tuned, LOSS, epsilon=3, delta=1e-5, max_iter=60, batch_size=300).fit(x, y)
    assert fitted.way_ == "Recorded"
    assert fitted.evaluate(x, y).accuracy > 0.9  # type: ignore[operator]
    assert all(torch.equal(p, frozen[n]) for n, p in tuned.named_parameters() if n in frozen)
    assert all(p.requires_grad for p in model.parameters())  # the model itself is as it was


def test_a_compacter_starts_as_the_model_and_trains_fewer_numbers_than_an_adapter() -> None:
    x, y = data(700)
    model = small()
    tuned = compacter(model, width=4, parts=2, train=("2",))
    assert torch.allclose(model(X), tuned(X))
    made = torch.kron(torch.eye(2), torch.ones(2, 1) @ torch.ones(1, 3))
    layer = Kronecker(nn.Parameter(torch.eye(2)[None].repeat(2, 1, 1) / 2), 6, 4)
    nn.init.ones_(layer.left)
    nn.init.ones_(layer.right)
    assert torch.allclose(layer(torch.eye(6)).T, made)
    fitted = PrivateTrainer(tuned, LOSS, epsilon=20, delta=1e-5, max_iter=60, sampling="full").fit(x, y)
    assert fitted.way_ == "Mapped"
    assert fitted.evaluate(x, y).accuracy > 0.9  # type: ignore[operator]
    few, more = (
        sum(p.numel() for p in changed.parameters() if p.requires_grad)
        for changed in (compacter(nn.Linear(64, 64), width=16), adapter(nn.Linear(64, 64), width=16))
    )
    assert few < more / 5
    with pytest.raises(OutOfRange, match="multiple of parts"):
        compacter(model, width=5, parts=2)


def test_merged_layers_do_the_same() -> None:
    torch.manual_seed(0)
    tuned = lora(nn.Linear(3, 2), rank=1, scale=0.5)
    nn.init.normal_(tuned.up.weight)
    merged = merge(tuned)
    assert isinstance(merged, nn.Linear)
    assert torch.allclose(merged(X), tuned(X), atol=1e-6)
    with pytest.raises(EmptyInput):
        lora(nn.Conv2d(1, 1, 1), rank=1)


# ------------------------------------------------------------ what makes two runs the same


def parts(model: nn.Module, **more: Any) -> dict[str, object]:
    return plan_training(trainer(model, **more), X, Y, Alone()).parts


def seeded_model(activation: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), activation, nn.Linear(4, 2))


def test_another_architecture_loss_or_optimizer_is_another_run() -> None:
    one = parts(small())
    assert parts(small(1)) == one  # where it begins is told apart elsewhere: a resumed run begins in the middle
    others = [
        parts(seeded_model(nn.ReLU())),
        parts(seeded_model(nn.Hardtanh(-2.0, 2.0))),
        parts(seeded_model(nn.Hardtanh(-1.0, 2.0))),
        parts(small(), optimizer=lambda weights: torch.optim.SGD(weights, lr=0.1)),
        parts(small(), optimizer=lambda weights: torch.optim.SGD(weights, lr=0.2)),
        parts(small(), learning_rate=0.3),
    ]
    with_loss = [
        PrivateTrainer(small(), nn.CrossEntropyLoss(label_smoothing=s), **PRICE, max_iter=10) for s in (0.1, 0.2)
    ]
    others += [plan_training(each, X, Y, Alone()).parts for each in with_loss]
    assert len({repr(each) for each in (one, *others)}) == 1 + len(others)
    assert parts(small(), optimizer=lambda weights: torch.optim.SGD(weights, lr=0.1)) != one


def test_another_beginning_is_charged(ledger: Ledger) -> None:
    x, y = data()
    for seed in (0, 1):
        trainer(small(seed), account=ledger, dataset="points 1").fit(x, y)
    assert charges(ledger) == 2


# ------------------------------------------------------------ odd items, and tiny or huge gradients


class Ragged(Dataset[tuple[Tensor, int]]):
    """Items of which one has another shape, and one is no item at all."""

    def __len__(self) -> int:
        return 60

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        if i == 7:
            return X[i][:2], int(Y[i])
        if i == 8:
            raise OSError("secret.png")
        return X[i], int(Y[i])


def test_an_odd_item_contributes_nothing_where_everything_is_declared() -> None:
    fitted = trainer(example=(torch.zeros(3), 1), rows=60, classes=2, sampling="full").fit(Ragged())
    assert np.isfinite(vector_of(fitted.model.parameters())).all()


def test_an_owner_is_told_of_an_odd_item_and_not_which() -> None:
    with pytest.raises(WrongShape, match="not like example=") as refusal:
        trainer(example=(torch.zeros(3), 1), sampling="full").fit(Ragged())
    assert "7" not in refusal.value.what and "secret" not in str(refusal.value)


@pytest.mark.parametrize("odd", [[[1.0, 2.0], [3.0]], np.array([["a", "b"]] * 60), np.array([None] * 60)])
def test_arrays_that_are_no_numbers_of_one_shape_are_refused_before_a_charge(odd: Any, ledger: Ledger) -> None:
    entries = spent(ledger)
    with pytest.raises(WrongShape, match="one shape"):
        trainer(account=ledger).fit(odd, Y)
    assert spent(ledger) == entries


def test_a_unit_says_that_each_has_one_example() -> None:
    assert "Each has one example." in trainer(unit="people.id").fit(X, Y).guarantee_.describe()
    assert "one example" not in trainer().fit(X, Y).guarantee_.describe()


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e25])
def test_norms_of_tiny_and_huge_gradients_neither_vanish_nor_overflow(size: float) -> None:
    values = torch.full((3, 4), size)
    assert squares_of(values).sqrt().tolist() == pytest.approx([2 * size] * 3, rel=1e-6, abs=0)
    trap = float(values.square().sum(1).sqrt()[0])  # in single precision
    assert (trap == pytest.approx(2 * size, rel=1e-6, abs=0)) == (size == 1.0)
