"""Clipped sums of torch models: right for each example, bounded for every batch, and refused where examples mix."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from hubbub.learn.torch.example_independence import best_way, evaluation_mode, made_up, refuse_mixing, set_modes
from hubbub.learn.torch.examples import ExampleKind
from hubbub.learn.torch.gradients import GradientMethod, Looped, Mapped, Recorded, batch_sizes
from hubbub.learn.torch.layers import _Linear, has_closed_form, part_of
from hubbub.learn.torch.losses import per_example
from hubbub.terms import MixesPeople, WrongShape

torch.set_num_threads(1)


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(outputs, targets, reduction="none")


def head(layer: nn.Module, pool: nn.Module, features: int) -> nn.Module:
    return nn.Sequential(layer, nn.ReLU(inplace=True), pool, nn.Flatten(), nn.Linear(features, 3))


class Text(nn.Module):
    """Tokens, a layer that is called twice, a norm and a head."""

    def __init__(self, padding: int | None = None) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(7, 5, padding_idx=padding), nn.LayerNorm(5)
        self.inner, self.wide, self.out = nn.Linear(5, 5), nn.Linear(5, 40), nn.Linear(40, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.inner(self.inner(self.norm(self.words(tokens))).tanh())
        return self.out(self.wide(values).relu().mean(1))


class PlacesFirst(Text):
    """The same with the batch as the second dimension inside."""

    def forward(self, tokens: Tensor) -> Tensor:
        values = self.inner(self.norm(self.words(tokens).transpose(0, 1)))
        return self.out(self.wide(values).relu().mean(0))


class Tied(nn.Module):
    """One weight used in two places, once outside its layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.out(functional.linear(self.layer(values).tanh(), self.layer.weight))


class Own(nn.Module):
    """A parameter that belongs to no known layer."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.out = nn.Parameter(torch.ones(4)), nn.Linear(4, 3)

    def forward(self, values: Tensor) -> Tensor:
        return self.out(values * self.gain)


IMAGES, VOLUMES, SIGNALS = (3, 13, 11), (2, 7, 6, 5), (3, 20)
MODELS: dict[str, tuple[Callable[[], nn.Module], ExampleKind]] = {
    "linear": (lambda: nn.Linear(4, 3), ExampleKind((4,), torch.float32)),
    "no offset": (lambda: nn.Linear(4, 3, bias=False), ExampleKind((4,), torch.float32)),
    "3x3": (lambda: head(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2), 16), ExampleKind(IMAGES, torch.float32)),
    "strides": (
        lambda: head(nn.Conv2d(3, 4, (4, 3), (2, 3), (2, 1), (2, 1)), nn.AdaptiveMaxPool2d(2), 16),
        ExampleKind(IMAGES, torch.float32),
    ),
    "wide stride": (
        lambda: head(nn.Conv2d(3, 4, 2, 3, bias=False), nn.AdaptiveAvgPool2d(2), 16),
        ExampleKind(IMAGES, torch.float32),
    ),
    "signal": (
        lambda: head(nn.Conv1d(3, 4, 3, 2, 1, 2), nn.AdaptiveAvgPool1d(4), 16),
        ExampleKind(SIGNALS, torch.float32),
    ),
    "volume": (
        lambda: head(
            nn.Sequential(nn.Conv3d(2, 4, (3, 2, 3), (2, 1, 2), 1), nn.GroupNorm(2, 4)), nn.AdaptiveAvgPool3d(2), 32
        ),
        ExampleKind(VOLUMES, torch.float32),
    ),
    "text": (Text, ExampleKind((9,), torch.int64, 7)),
    "padded text": (lambda: Text(0), ExampleKind((2,), torch.int64, 7)),
}


def shadow(make: Callable[[], nn.Module]) -> tuple[nn.Module, tuple[str, ...]]:
    torch.manual_seed(3)
    model = make()
    names = tuple(name for name, _ in model.named_parameters())
    set_modes(model)
    return model.requires_grad_(False), names


def batch(kind: ExampleKind, count: int = 6) -> tuple[tuple[Tensor, ...], Tensor]:
    generator = torch.Generator().manual_seed(5)
    return (kind.made_up(count, 2.0, generator),), ExampleKind((), torch.int64, 3).made_up(count, 1.0, generator)


def own_gradients(model: nn.Module, inputs: tuple[Tensor, ...], targets: Tensor) -> list[Tensor]:
    """The gradient of each example as one vector, by plain autograd."""
    twin = copy.deepcopy(model).requires_grad_()
    found = []
    for i in range(len(targets)):
        twin.zero_grad()
        losses(twin(*(x[i : i + 1] for x in inputs)), targets[i : i + 1]).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in twin.parameters() if p.grad is not None]).double())
    return found


def flat(way: GradientMethod, inputs: tuple[Tensor, ...], targets: Tensor, clip: float) -> Tensor:
    totals = way.clipped_sum(inputs, targets, clip=clip).totals
    return torch.cat([totals[name].flatten() for name in way.names]).double()


@pytest.mark.parametrize("kind", [Recorded, Mapped, Looped])
@pytest.mark.parametrize("name", MODELS)
def test_norms_and_clipped_sums_are_those_of_a_loop_over_examples(name: str, kind: type[GradientMethod]) -> None:
    make, values = MODELS[name]
    model, names = shadow(make)
    inputs, targets = batch(values)
    truth = own_gradients(model, inputs, targets)
    norms = torch.stack([g.norm() for g in truth])
    clip = float(norms.median())  # half of the examples are clipped
    way = kind(model, losses, names)
    found = way.clipped_sum(inputs, targets, clip=clip)
    assert torch.allclose(found.norms, norms, rtol=1e-4)
    total = torch.stack([g / max(float(g.norm()), clip) for g in truth]).sum(0)
    assert torch.allclose(flat(way, inputs, targets, clip), total, atol=2e-4)


@pytest.mark.parametrize("kind", [Recorded, Mapped, Looped])
@pytest.mark.parametrize("name", ["linear", "strides", "text"])
def test_an_example_moves_a_clipped_sum_by_at_most_one(name: str, kind: type[GradientMethod]) -> None:
    make, values = MODELS[name]
    model, names = shadow(make)
    inputs, targets = batch(values)
    way = kind(model, losses, names)
    for clip in (1e-3, 0.5, 100.0):
        whole = flat(way, inputs, targets, clip)
        for i in range(len(targets)):
            rest = torch.arange(len(targets)) != i
            moved = float((whole - flat(way, tuple(x[rest] for x in inputs), targets[rest], clip)).norm())
            assert moved <= 1 + 1e-6
            assert clip > 1e-2 or moved > 0.999  # every example is clipped here: a looser bound would show


def test_norms_from_gram_matrices_do_not_vanish_where_places_cancel() -> None:
    """Two places whose gradients almost cancel: what is left is far longer than the clipping norm."""
    generator = torch.Generator().manual_seed(0)
    entering = 1e4 * torch.randn(8, 1, 30, generator=generator).repeat(1, 2, 1)
    errors = torch.randn(8, 1, 20, generator=generator) * torch.tensor([1.0, -1.0])[:, None]
    errors = errors + 1e-4 * torch.randn(8, 2, 20, generator=generator)
    part = part_of(nn.Linear(30, 20), [(entering, errors)], frozenset({"weight"}))
    true = (errors.double().mT @ entering.double()).flatten(1).norm(dim=1)
    plain = ((entering @ entering.mT) * (errors @ errors.mT)).sum((1, 2)).clamp_min(0).double().sqrt()
    assert float((true / plain.clamp_min(1)).max()) > 1.2  # the planted fault: clipped by this, a gradient is too long
    assert float((true / part.squares().double().sqrt()).max()) <= 1 + 1e-6


def test_batch_normalization_would_break_the_bound() -> None:
    """The planted fault: what ``refuse_mixing`` keeps out moves a sum by more than one example's share."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    names = tuple(name for name, _ in model.named_parameters() if not name.startswith("1."))
    model.requires_grad_(False)
    inputs, targets = batch(ExampleKind((4,), torch.float32))
    inputs[0][0] *= 100
    way = Recorded(model, losses, names)
    whole, without = flat(way, inputs, targets, 1e-3), flat(way, (inputs[0][1:],), targets[1:], 1e-3)
    assert float((whole - without).norm()) > 1.2


def test_an_example_without_finite_gradient_adds_nothing() -> None:
    model, names = shadow(MODELS["3x3"][0])
    inputs, targets = batch(MODELS["3x3"][1])
    for bad in (float("nan"), float("inf"), 1e38):
        spoiled = inputs[0].clone()
        spoiled[2] = bad
        rest = torch.arange(len(targets)) != 2
        for kind in (Recorded, Mapped, Looped):
            way = kind(model, losses, names)
            found, expected = flat(way, (spoiled,), targets, 1.0), flat(way, (inputs[0][rest],), targets[rest], 1.0)
            assert torch.allclose(found, expected, atol=1e-5)


def test_an_empty_batch_has_sum_zero() -> None:
    model, names = shadow(MODELS["linear"][0])
    inputs, targets = batch(MODELS["linear"][1])
    assert not flat(Recorded(model, losses, names), (inputs[0][:0],), targets[:0], 1.0).any()


PHYSICAL = 256  # as training has it, if nothing is said


def way_for(make: Callable[[], nn.Module], kind: ExampleKind) -> str:
    model, names = shadow(make)
    return type(best_way(model, losses, names, [batch(kind), batch(kind, 16)], physical=16)).__name__


def test_closed_forms_are_used_where_they_agree_and_only_there() -> None:
    assert way_for(*MODELS["strides"]) == "Recorded"
    assert way_for(*MODELS["text"]) == "Recorded"
    assert way_for(Own, ExampleKind((4,), torch.float32)) == "Mapped"  # no closed form
    assert way_for(Tied, ExampleKind((4,), torch.float32)) == "Mapped"  # a use that the taps do not see
    assert way_for(PlacesFirst, ExampleKind((9,), torch.int64, 7)) == "Mapped"  # examples are not first
    assert way_for(PlacesFirst, ExampleKind((6,), torch.int64, 7)) == "Mapped"  # not even if the shapes fit


def test_a_model_that_cannot_be_mapped_is_gone_through_one_by_one() -> None:
    class Branching(Own):
        def forward(self, values: Tensor) -> Tensor:
            return super().forward(values if float(values.sum()) > 0 else 2 * values)

    assert way_for(Branching, ExampleKind((4,), torch.float32)) == "Looped"


def test_only_plain_forms_of_layers_have_a_closed_form() -> None:
    class Mine(nn.Linear):
        pass

    assert has_closed_form(nn.Linear(2, 2))
    assert not has_closed_form(Mine(2, 2))  # may do anything
    assert not has_closed_form(nn.Conv2d(4, 4, 3, groups=2))
    assert not has_closed_form(nn.Conv2d(4, 4, 3, padding_mode="circular"))
    assert not has_closed_form(nn.Embedding(4, 4, scale_grad_by_freq=True))  # counts over the batch


# ------------------------------------------------------------ who mixes examples


class Centred(nn.Module):
    """A custom module that mixes: the batch's mean is taken off."""

    def forward(self, values: Tensor) -> Tensor:
        return values - values.mean(0, keepdim=True)


class Counting(nn.Module):
    """A module that remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, values: Tensor) -> Tensor:
        if self.training:
            self.seen += values.detach().sum()
        return values


class Sized(nn.Module):
    """A module that looks at the size of the batch."""

    def forward(self, values: Tensor) -> Tensor:
        return values / len(values)


class Shuffled(nn.Module):
    """A module that hands values to the neighbour."""

    def forward(self, values: Tensor) -> Tensor:
        return values + values.roll(1, 0).relu()


def tried(*layers: nn.Module) -> None:
    model = nn.Sequential(nn.Linear(4, 6), *layers, nn.Linear(6, 3))
    set_modes(model)
    refuse_mixing(
        model, losses, made_up((ExampleKind((4,), torch.float32),), ExampleKind((), torch.int64, 3), physical=PHYSICAL)
    )


class MixesAt(nn.Module):
    """A module that mixes in batches of some sizes alone: between two places, far from each other or close."""

    def __init__(self, mixes: Callable[[int], bool], one: int = 0, other: int = -1) -> None:
        super().__init__()
        self.mixes, self.one, self.other = mixes, one, other

    def forward(self, values: Tensor) -> Tensor:
        if not self.mixes(len(values)):
            return values
        added = torch.zeros_like(values)
        added[self.one] = values[self.other]
        return values + added


class Remembers(nn.Module):
    """A module that keeps what it saw in an attribute, which is no buffer."""

    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.kept = kept

    def forward(self, values: Tensor) -> Tensor:
        if isinstance(self.kept, int):
            self.kept += 1
            return values * (self.kept > 100)
        if isinstance(self.kept, Tensor):
            values, self.kept = values + self.kept, values.detach().mean(0)
            return values
        (self.kept.update if isinstance(self.kept, dict) else self.kept.append)({"mean": values.detach().mean(0)})
        return values


@pytest.mark.parametrize(
    "mixes",
    [lambda n: n > 5, lambda n: n == PHYSICAL, lambda n: n == 32, lambda n: n in (2, 4), lambda n: n > 200],
    ids=["more than 5", "the largest", "one size", "small ones", "large ones"],
)
@pytest.mark.parametrize("places", [(0, -1), (0, 1), (-1, -2)])
def test_mixing_at_any_size_that_training_runs_is_found(mixes: Any, places: tuple[int, int]) -> None:
    with pytest.raises(MixesPeople, match=r"'1' \(MixesAt\)"):
        tried(MixesAt(mixes, *places))


@pytest.mark.parametrize("kept", [0, torch.zeros(6), [], {}], ids=["a number", "a tensor", "a list", "a dict"])
def test_a_memory_in_an_attribute_is_found(kept: Any) -> None:
    with pytest.raises(MixesPeople, match=r"writes to '1.kept'"):
        tried(Remembers(kept))


def test_only_sizes_that_were_tried_are_run() -> None:
    seen: set[int] = set()

    class Watched(nn.Linear):
        def forward(self, values: Tensor) -> Tensor:
            seen.add(len(values))
            return super().forward(values)

    model = nn.Sequential(nn.Linear(4, 6), Watched(6, 6).requires_grad_(False), nn.Linear(6, 3)).requires_grad_(False)
    names = ("0.weight", "2.weight", "2.bias")
    padded, plain = Recorded(model, losses, names, physical=48), Looped(model, losses, names)
    for count in (1, 3, 5, 17, 33, 47, 48):
        inputs, targets = batch(ExampleKind((4,), torch.float32), count)
        inputs[0][0, 0] = torch.inf  # whose gradient is not finite: others are then counted without it
        seen.clear()
        found = flat(padded, inputs, targets, 0.5)
        assert seen <= set(batch_sizes(48))
        assert torch.allclose(found, flat(plain, inputs, targets, 0.5), atol=1e-5)


@pytest.mark.parametrize(
    "layer", [nn.GroupNorm(2, 6), nn.LayerNorm(6), nn.Dropout(0.5), nn.AlphaDropout(0.3), nn.Tanh(), nn.Softmax(1)]
)
def test_layers_that_treat_each_example_by_itself_pass(layer: nn.Module) -> None:
    tried(layer)


@pytest.mark.parametrize(
    ("layer", "told"),
    [
        (nn.BatchNorm1d(6), r"'1' \(BatchNorm1d\)"),
        (nn.SyncBatchNorm(6), r"'1' \(SyncBatchNorm\)"),
        (nn.BatchNorm1d(6, momentum=0.0), r"'1' \(BatchNorm1d\)"),
        (nn.BatchNorm1d(6, track_running_stats=False), r"'1' \(BatchNorm1d\)"),
        (Centred(), r"'1' \(Centred\)"),
        (Shuffled(), r"'1' \(Shuffled\)"),
        (nn.Softmax(0), r"'1' \(Softmax\)"),
        (Counting(), "writes to 'buffer 1.seen'"),
        (Sized(), "another loss in a batch than alone"),
    ],
)
def test_layers_that_mix_or_remember_are_found_by_running_them(layer: nn.Module, told: str) -> None:
    with pytest.raises(MixesPeople, match=told):
        tried(layer)


def test_a_frozen_layer_is_run_as_it_was_trained() -> None:
    tried(nn.BatchNorm1d(6).requires_grad_(False))
    with pytest.raises(MixesPeople):
        tried(nn.BatchNorm1d(6, affine=False))  # has nothing that could be frozen


def test_a_loss_over_pairs_is_found() -> None:
    def pairs(outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs @ outputs.T).square().mean(1)

    model = nn.Linear(4, 3)
    with pytest.raises(MixesPeople, match="the model or the loss"):
        refuse_mixing(
            model, pairs, made_up((ExampleKind((4,), torch.float32),), ExampleKind((), torch.int64, 3), physical=4)
        )


def test_checks_leave_modes_as_they_were() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout())
    model[0].eval()
    with evaluation_mode(model):
        assert not model[1].training
    assert model[1].training
    assert not model[0].training


# ------------------------------------------------------------ one loss per example

OUTPUTS, CLASSES = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 2, 1, 1, 0])
EACH = functional.cross_entropy(OUTPUTS, CLASSES, reduction="none")


@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(),
        nn.CrossEntropyLoss(reduction="none"),
        nn.CrossEntropyLoss(reduction="sum"),
        functional.cross_entropy,
        losses,
    ],
)
def test_every_usual_form_of_a_loss_gives_the_loss_of_each_example(loss: object) -> None:
    single = per_example(loss, OUTPUTS, CLASSES)
    assert torch.allclose(single(OUTPUTS, CLASSES), EACH)
    assert torch.allclose(single(OUTPUTS[:1], CLASSES[:1]), EACH[:1])


def test_blocks_of_losses_are_averaged_or_summed_as_the_loss_says() -> None:
    targets = torch.zeros(5, 3)
    squares = OUTPUTS.square()
    assert torch.allclose(per_example(nn.MSELoss(), OUTPUTS, targets)(OUTPUTS, targets), squares.mean(1))
    assert torch.allclose(per_example(nn.MSELoss(reduction="sum"), OUTPUTS, targets)(OUTPUTS, targets), squares.sum(1))


@pytest.mark.parametrize("loss", ["mse", lambda outputs, targets: 0.0, lambda outputs, targets: outputs[:2]])
def test_what_is_no_loss_per_example_is_refused(loss: object) -> None:
    with pytest.raises(WrongShape, match="loss="):
        per_example(loss, OUTPUTS, CLASSES)


@pytest.mark.parametrize("size", [1e4, 1e6, 1e10])
def test_errors_that_cancel_do_not_escape_the_clip_of_a_bias(size: float) -> None:
    """The sum over places is taken once: another order would round it differently, by far more than what is left."""
    torch.manual_seed(1)
    for _ in range(50):
        half = torch.randn(1, 4, 16) * size
        errors = torch.cat([half, -half], 1)[:, torch.randperm(8)]
        layer = _Linear(torch.zeros(1, 8, 4), errors, frozenset({"bias"}))
        factors = (1 / layer.squares().double().sqrt().clamp_min(1.0)).float()
        assert float(layer.total(factors)["bias"].norm()) <= 1 + 1e-5


def test_a_tiny_error_on_a_huge_input_is_seen() -> None:
    layer = _Linear(torch.full((1, 1, 2), 1e19), torch.full((1, 1, 2), 1e-23), frozenset({"weight"}))
    assert float(layer.squares().sqrt()) == pytest.approx(2e-4, rel=1e-5)
