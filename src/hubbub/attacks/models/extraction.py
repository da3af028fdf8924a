"""Extraction: make a language model repeat a secret that one person wrote.

Two questions. How high does the model rank the true secret among all that have its form (its *exposure* [CLEKS19])? And
does it come out, word for word, when the model is asked to go on from the words before it [CTW21]?

A model is anything with an ``alphabet``, an ``order`` (the next character depends on the last order - 1) and
``log_probabilities(context)``, such as ``NgramModel``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Floats
from hubbub.explain import Figure
from hubbub.render import Json, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Unsuitable, whole

_MOST = 10_000_000  # secrets of the same form that are compared


class LanguageModel(Protocol):
    """What an attacked language model must be able to do."""

    @property
    def alphabet(self) -> str: ...
    @property
    def order(self) -> int: ...
    def log_probabilities(self, context: str) -> Floats: ...


def extract(
    model: LanguageModel, prefix: str, *, secret: str, symbols: str = "0123456789", beam: int = 100
) -> Extraction:
    """Let the model go on from ``prefix``, and see whether ``secret`` (of these ``symbols``) comes out.

    ``secret`` only tells how long it is, and whether a guess is right. ``beam`` is how many beginnings are kept on the
    way.

    >>> from hubbub.attacks.models.ngrams import train_ngrams
    >>> model = train_ngrams(["my pin is 7305", "my cat is 12"], alphabet="0123456789")
    >>> found = extract(model, "my pin is ", secret="7305")
    >>> found.guesses[0], found.rank
    ('7305', 1.0)
    """
    _check_secret(model, secret, symbols)
    guesses = continuations(model, prefix, length=len(secret), symbols=symbols, beam=beam)
    return Extraction(prefix, secret, guesses, rank(model, prefix, secret=secret, symbols=symbols), len(symbols))


def continuations(model: LanguageModel, prefix: str, *, length: int, symbols: str, beam: int = 100) -> tuple[str, ...]:
    """The likeliest continuations of ``prefix`` that beam search finds, likeliest first."""
    places = [model.alphabet.index(symbol) for symbol in symbols]
    kept: list[tuple[float, str]] = [(0.0, "")]
    for _ in range(length):
        longer = [
            (score + float(chance), kept_texts + symbol)
            for score, kept_texts in kept
            for symbol, chance in zip(symbols, model.log_probabilities(prefix + kept_texts)[places], strict=True)
        ]
        kept = sorted(longer, key=lambda one: (-one[0], one[1]))[: whole(beam, name="beam")]
    return tuple(kept_texts for _, kept_texts in kept)


def rank(model: LanguageModel, prefix: str, *, secret: str, symbols: str = "0123456789") -> float:
    """The place of the secret among all strings of its length, by likelihood; of equally likely ones the middle."""
    _check_secret(model, secret, symbols)
    scores = _all_scores(model, prefix, len(secret), symbols)
    place = 0
    for symbol in secret:
        place = place * len(symbols) + symbols.index(symbol)
    own = scores[place]
    tied = np.count_nonzero(np.abs(scores - own) <= 1e-9)
    return float(1 + np.count_nonzero(scores > own + 1e-9) + (tied - 1) / 2)


def _all_scores(model: LanguageModel, prefix: str, length: int, symbols: str) -> Floats:
    """The log-likelihood of every string of that length, in dictionary order.

    Strings that end alike share what comes next, so the model is asked once per context and not once per string.
    """
    places = [model.alphabet.index(symbol) for symbol in symbols]
    reach = model.order - 1
    contexts = [prefix]
    state, scores = np.zeros(1, dtype=np.int64), np.zeros(1)
    for _ in range(length):
        following = np.stack([model.log_probabilities(context)[places] for context in contexts])
        scores = (scores[:, None] + following[state]).ravel()
        ends = [(context + symbol)[max(0, len(context) + 1 - reach) :] for context in contexts for symbol in symbols]
        numbered = {end: number for number, end in enumerate(dict.fromkeys(ends))}
        moves = np.array([numbered[end] for end in ends]).reshape(len(contexts), len(symbols))
        contexts, state = list(numbered), moves[state].ravel()
    return scores


def _check_secret(model: LanguageModel, secret: str, symbols: str) -> None:
    if not secret or not set(secret) <= set(symbols) <= set(model.alphabet):
        raise Unsuitable(
            "the secret must be made of the symbols, and the symbols be in the model's alphabet.",
            why="Its rank is among all strings of those symbols.",
            fix="Give symbols= all characters that such a secret may have.",
        )
    if len(symbols) ** len(secret) > _MOST:
        raise Unsuitable(
            f"there are more than {_MOST:,} possible secrets of this form.",
            why="Each of them is compared with the true one.",
            fix="Test a shorter secret, or a part of it after a longer prefix.",
        )


@dataclass(frozen=True, slots=True)
class Extraction(Attack):
    """What the model says after the prefix, and where the true secret stands among all of its form."""

    kind: ClassVar[str] = "extraction"
    name: ClassVar[str] = "A secret repeated by a model"

    prefix: str
    secret: str
    guesses: Sequence[str]
    rank: float
    symbols: int

    @property
    def possible(self) -> int:
        """How many strings have the secret's form."""
        return int(self.symbols ** len(self.secret))

    @property
    def exposure(self) -> float:
        """By how many bits the model narrows the search for the secret: log2(possible / rank)."""
        return math.log2(self.possible / self.rank)

    @property
    def succeeded(self) -> bool:
        """Whether the model's first guess is the secret."""
        return bool(self.guesses) and self.guesses[0] == self.secret

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        went = "goes on with the true secret" if self.succeeded else "does not go on with the secret"
        return (
            f"Asked to continue {self.prefix!r}, the model {went}; among {self.possible:,} of its form the true one "
            f"is number {self.rank:,.0f}."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "rank": self.rank,
            "possible": self.possible,
            "exposure": self.exposure,
            "guesses": list(self.guesses[:5]),
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        return (
            ("first guesses", ", ".join(self.guesses[:3])),
            ("the secret", self.secret),
            ("its rank", f"{self.rank:,.0f} of {self.possible:,}"),
            ("exposure", f"{short(self.exposure)} bits of {short(math.log2(self.possible))}"),
        )

    def figure(self) -> Figure:
        """Bits that the model gives away, of all there are."""
        whole_secret = math.log2(self.possible)
        bars = [
            Bar("given away", self.exposure),
            Bar("the whole secret", whole_secret),
            Bar("a secret never seen", 1.0),
        ]
        drawn = bar_chart(
            bars, title="How much of the secret the model gives away", description=self.headline, label="bits"
        )
        return Figure(self.kind, drawn, "A model that never saw a secret gives away about one bit by chance.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return ("The model does not repeat what this person wrote.",)
        return (
            "One person wrote this once. The model learned it by heart, and tells it to anyone who begins the "
            "sentence. It need not be overfitted for that: to predict a rare text well is to remember it.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Training with differential privacy for a whole person's text: then no text that one person wrote changes "
            "what the model says by more than the odds allow.",
            "Filters for things that look like card numbers miss whatever they were not written for.",
        )
