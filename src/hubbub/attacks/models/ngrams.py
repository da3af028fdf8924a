"""A small language model: which character follows the last few, counted over what people wrote.

It learns as large models do, by fitting the next character, and memorizes as they do: what one person wrote once, it
can repeat. ``train_private_ngrams`` counts people with noise instead, and names no sequence that few people have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from hubbub.attacks.requirements import Floats
from hubbub.mechanisms import ThresholdPartitionSelection
from hubbub.terms import Real, Unsuitable, fraction_of, positive, whole

START = "\x02"  # stands before every text
END = "\n"  # ends every text


@dataclass(frozen=True, slots=True, eq=False)
class NgramModel:
    """The chance of the next character after the last ``order`` - 1, from counts of sequences of every length.

    Long contexts are trusted as far as they were seen: each length blends its own counts with the next shorter one by
    Witten and Bell's rule [WB91]; the shortest blends with equal chances. ``unseen`` is a count that may be missing
    from each context, because rare sequences were left out.
    """

    alphabet: str
    order: int
    followers: Mapping[str, Floats] = field(repr=False)
    unseen: float = 0.0

    def log_probabilities(self, context: str) -> Floats:
        """The log of the chance of each character of the alphabet, after the context."""
        seen = (START * self.order + context)[-(self.order - 1) :] if self.order > 1 else ""
        chances = np.full(len(self.alphabet), 1 / len(self.alphabet))
        for length in range(self.order):
            counts = self.followers.get(seen[len(seen) - length :])
            if counts is not None:
                doubt = np.count_nonzero(counts) + self.unseen
                chances = (counts + doubt * chances) / (counts.sum() + doubt)
        return np.asarray(np.log(chances), dtype=np.float64)

    def bits_per_character(self, texts: Iterable[str]) -> float:
        """How many bits per character the model needs for texts: the fewer, the more it has learned."""
        places = {character: place for place, character in enumerate(self.alphabet)}
        losses = [
            -self.log_probabilities(text[:i])[places[character]]
            for text in texts
            for i, character in enumerate(text)
            if character in places
        ]
        return float(np.mean(losses) / np.log(2))


def train_ngrams(texts: Sequence[str], *, alphabet: str = "", order: int = 5) -> NgramModel:
    """A model of all texts, without privacy; it knows their characters and those of ``alphabet``.

    >>> model = train_ngrams(["the cat sat", "the cat ran"], order=4)
    >>> model.alphabet[model.log_probabilities("the c").argmax()]
    'a'
    """
    length = whole(order, name="order")
    counts: Counter[str] = Counter()
    for text in _check_texts(texts):
        counts.update(_text_sequences(text, length))
    known = {*"".join(texts), *alphabet} - {END}
    return _ngram_model("".join(sorted(known)) + END, length, counts)


def train_private_ngrams(
    texts: Sequence[str], *, alphabet: str, epsilon: Real, delta: Real, order: int = 5, most: int = 20
) -> NgramModel:
    """A model of texts, one per person, in which no person can be seen.

    The ``alphabet`` is public. Of each length, a person counts for at most ``most`` different sequences, once each.

    Guarantee: (epsilon, delta)-DP for adding or removing one text.
    Because: [KKMN09] (``ThresholdPartitionSelection``)
    for the sequences of each length, at an equal share of epsilon and delta; the
    shares add up [DMNS06]. Everything else is computed from what it names.
    Error: sequences that fewer people than the threshold have are not learned.
    Not covered: running time.
    """
    length = whole(order, name="order")
    cost, chance = positive(epsilon, name="epsilon") / length, fraction_of(delta, name="delta") / length
    cap = whole(most, name="most")
    keys = ThresholdPartitionSelection(epsilon=cost, delta=chance, max_keys_per_unit=cap, noise="gaussian")
    named: dict[str, float] = {}
    for size in range(1, length + 1):
        people: Counter[str] = Counter()
        for text in _check_texts(texts):
            people.update(_capped_sequences(text, length, size, alphabet, cap))
        named |= {key: float(count) for key, count in keys.release(people).items()}
    return _ngram_model(alphabet + END, length, named, unseen=float(keys.threshold))


def _capped_sequences(text: str, order: int, size: int, alphabet: str, cap: int) -> list[str]:
    """At most ``cap`` different sequences of that size: those that a public order of all sequences puts first."""
    allowed = {*alphabet, START, END}
    sequences = {key for key in _text_sequences(text, order) if len(key) == size and allowed.issuperset(key)}
    return sorted(sequences, key=lambda key: (crc32(key.encode()), key))[:cap]


def _check_texts(texts: Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str) or not len(texts) or not all(isinstance(text, str) for text in texts):
        raise Unsuitable(
            "texts must be a list of texts with something in it.",
            why="A model is learned from what several people wrote.",
            fix="Give one text per person.",
        )
    return texts


def _text_sequences(text: str, order: int) -> list[str]:
    """Every sequence of 1 to ``order`` characters, each ending in a character of the text or in its end."""
    padded = START * (order - 1) + text + END
    ends = range(order, len(padded) + 1)
    return [padded[end - size : end] for size in range(1, order + 1) for end in ends]


def _ngram_model(alphabet: str, order: int, counts: Mapping[str, float], *, unseen: float = 0.0) -> NgramModel:
    places = {character: place for place, character in enumerate(alphabet)}
    followers: dict[str, Floats] = {}
    for key, count in counts.items():
        if count > 0 and key[-1] in places:
            row = followers.setdefault(key[:-1], np.zeros(len(alphabet)))
            row[places[key[-1]]] = count
    return NgramModel(alphabet, order, followers, unseen)
