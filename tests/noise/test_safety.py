"""No state to repeat: forks, threads, copies, pickles, restored machines; and no reachable seed."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hubbub import noise
from hubbub.noise import _source
from hubbub.noise._source import SECURE
from hubbub.terms import EmptyInput, HubbubError, NotANumber, OutOfRange, TooLarge, Underflow


def _child_draws(size: int | None) -> list[int]:
    """What a forked child draws, sent back through a pipe."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        drawn = noise.discrete_laplace(1 << 40, size=size)
        os.write(write, pickle.dumps(np.atleast_1d(drawn)[:50].tolist()))
        os._exit(0)
    os.waitpid(pid, 0)
    return pickle.loads(os.read(read, 1 << 16))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("size", [None, 20, 5_000])
def test_parent_and_forked_children_draw_different_noise(size: int | None) -> None:
    noise.discrete_laplace(1 << 40, size=size)  # whatever is kept after a first call would be shared
    first, second = _child_draws(size), _child_draws(size)
    own = np.atleast_1d(noise.discrete_laplace(1 << 40, size=size))[:50].tolist()
    assert not set(first) & set(second)
    assert not set(first) & set(own)


def test_threads_draw_different_noise() -> None:
    barrier = threading.Barrier(8)

    def draw(_: int) -> list[int]:
        barrier.wait()
        return noise.discrete_gaussian(1 << 40, size=1_000).tolist()

    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(draw, range(8)))
    assert len({x for batch in drawn for x in batch}) == 8_000


def test_copies_and_pickles_of_the_source_repeat_nothing() -> None:
    twins = [copy.copy(SECURE), copy.deepcopy(SECURE), pickle.loads(pickle.dumps(SECURE)), SECURE]
    assert len({twin.bits(128) for twin in twins}) == 4
    assert len({int(twin.random_words(10_000)[0]) for twin in twins}) == 4


def test_the_source_has_no_state_a_snapshot_could_restore() -> None:
    assert not hasattr(SECURE, "__dict__")
    assert _source.SecureSource.__slots__ == ()


def test_every_bulk_request_takes_a_fresh_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    real = os.urandom

    def urandom(size: int) -> bytes:
        keys.append(real(size))
        return keys[-1]

    monkeypatch.setattr(_source.os, "urandom", urandom)
    noise.discrete_laplace(10, size=5_000)
    noise.discrete_laplace(10, size=5_000)
    long = [key for key in keys if len(key) == 32]
    assert len(long) >= 2
    assert len(set(long)) == len(long)


def test_large_requests_are_answered_piece_by_piece_and_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "_ZEROS", memoryview(bytes(8_000)))
    words = SECURE.random_words(2_500)
    assert words.size == 2_500
    assert np.unique(words).size == 2_500


BAD = [0, -1, float("nan"), float("inf"), "1", None, [1], True, 10**-9, 1 << 600]


@pytest.mark.parametrize("value", BAD, ids=repr)
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.discrete_gaussian, noise.geometric])
def test_a_bad_scale_is_refused_before_anything_is_drawn(draw, size, value, no_noise) -> None:
    with pytest.raises(HubbubError):
        draw(value, size, rng=no_noise)


def test_errors_say_which_kind_of_bad(no_noise) -> None:
    with pytest.raises(NotANumber):
        noise.discrete_laplace("10", rng=no_noise)
    with pytest.raises(OutOfRange):
        noise.bernoulli(1.5, rng=no_noise)
    with pytest.raises(OutOfRange):
        noise.bernoulli_exp(-1, rng=no_noise)
    with pytest.raises(Underflow):
        noise.discrete_gaussian(1e-9, rng=no_noise)
    with pytest.raises(TooLarge):
        noise.discrete_gaussian(1 << 60, size=2, rng=no_noise)
    with pytest.raises(TooLarge):
        noise.uniform(1 << 64, size=2, rng=no_noise)
    with pytest.raises(EmptyInput):
        noise.choose_exp([], rng=no_noise)


def test_parameters_are_the_decimals_people_see() -> None:
    from hubbub.noise.samplers import _laplace_distribution

    assert _laplace_distribution(0.1, True).linear == 10
