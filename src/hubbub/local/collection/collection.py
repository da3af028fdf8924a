"""A collection: one question that is put to many people, and all that clients and collector must agree on.

Its canonical text (JSON with sorted keys, no spaces, ASCII, whole numbers only) is what is signed, and the SHA-256 of
that text is the *parameter digest* that every report carries: a client with another epsilon, domain or threshold is
noticed, where its reports would otherwise bend the estimate in silence.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from hubbub.durable import canonical_json
from hubbub.local.collection.configuration_forms import find_misfit, without_doubles
from hubbub.local.collection.randomizer_config import distribution_parameters, read_distribution
from hubbub.local.collection.report_layout import PROTOCOLS
from hubbub.local.longitudinal.lifetime import most_ever, price_of
from hubbub.local.randomizers.base import Randomizer
from hubbub.terms import BadCollection, HubbubError, positive, whole

FORMAT = "collection/1"
_WORDS = {
    "id": "its id must be 32 hexadecimal digits",
    "name": "its name must be of small letters, digits and hyphens, 63 at most",
    "attribute": "its attribute must be of small letters, digits and hyphens, 63 at most",
    "question": "its question must be one line of 1 to 1000 signs, all of which show what they are",
    "answers": "its answers must be different lines of 1 to 1000 signs, all of which show what they are",
    "epochs": "it must have between 1 and 4294967295 epochs",
    "randomizer": "a field of its randomizer is missing, unknown or of another kind",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Collection:
    """A question, the randomizer that answers go through, and the limits that clients and collector keep to.

    ``attribute`` names what the question is about: collections about one attribute share a client's cap for it. With
    ``answers``, the value i is shown as the i-th of them. Epochs are 0, ..., ``epochs`` - 1; a client sends one report
    in each. ``lifetime`` is the most epsilon that this collection may ever take from one client (see ``Lifetime``),
    ``minimum_batch`` the least number of reports that are estimated from or passed on together; ``version`` grows when
    a configuration replaces an older one.

    >>> from hubbub.local import KaryResponse
    >>> bread = Collection(name="bread", question="Bread?", randomizer=KaryResponse(epsilon=1, domain=2), epochs=7)
    >>> Collection.from_json(bread.to_json()) == bread
    True
    >>> bread.lifetime, len(bread.digest)
    (Fraction(7, 1), 32)
    """

    name: str
    question: str
    randomizer: Randomizer
    attribute: str = ""
    answers: tuple[str, ...] = ()
    epochs: int = 1
    lifetime: Fraction | None = None
    minimum_batch: int = 100
    version: int = 1
    id: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        for name in ("epochs", "minimum_batch", "version"):
            object.__setattr__(self, name, whole(getattr(self, name), name=name))
        cap = most_ever(self.randomizer, self.epochs) if self.lifetime is None else self.lifetime
        object.__setattr__(self, "lifetime", positive(cap, name="lifetime"))
        object.__setattr__(self, "attribute", self.attribute or self.name)
        object.__setattr__(self, "question", one_form(self.question))
        object.__setattr__(self, "answers", tuple(map(one_form, self.answers)))
        if problem := self._problem():
            raise bad_collection(problem)

    def _problem(self) -> str | None:
        """What is wrong with the fields, in words, or None."""
        domain = getattr(self.randomizer, "domain", None)
        if self.randomizer.protocol not in PROTOCOLS:
            return "reports of its randomizer have no form on the wire"
        if field := find_misfit("collection", self.to_json()):
            return _misfit_sentence(field)
        if self.cap < price_of(self.randomizer):
            return "its lifetime does not pay for one report: nobody could tell anything"
        if self.answers and len(self.answers) != domain:
            return "its answers must be as many as the randomizer's domain has values"
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_json(self) -> dict[str, Any]:
        """The fields, with rational numbers as text."""
        return {
            "hubbub": FORMAT,
            "id": self.id,
            "name": self.name,
            "question": self.question,
            "attribute": self.attribute,
            "answers": list(self.answers),
            "randomizer": distribution_parameters(self.randomizer),
            "epochs": self.epochs,
            "lifetime": str(self.lifetime),
            "minimum_batch": self.minimum_batch,
            "version": self.version,
        }

    @classmethod
    def from_json(cls, document: object) -> Collection:
        """The collection that a document says; BadCollection if it says none, or a randomizer that is not ours.

        The thresholds in the document must be those that this version works out from epsilon and the domain: whoever
        writes a configuration cannot weaken the noise behind an honest-looking epsilon.
        """
        if not isinstance(document, dict) or document.get("hubbub") != FORMAT:
            raise bad_collection(f'it does not start with "hubbub": "{FORMAT}"')
        if misfitting := find_misfit("collection", document):
            raise bad_collection(_misfit_sentence(misfitting))
        try:
            collection = cls(
                id=document["id"],
                name=document["name"],
                question=document["question"],
                attribute=document["attribute"],
                answers=document["answers"],
                randomizer=read_distribution(document["randomizer"]),
                epochs=document["epochs"],
                lifetime=Fraction(document["lifetime"]),
                minimum_batch=document["minimum_batch"],
                version=document["version"],
            )
        except BadCollection:
            raise
        except HubbubError as error:
            raise bad_collection("its numbers do not go together") from error
        if collection.to_json() != document:
            raise bad_collection("a field, or a number of its randomizer, is not what this version makes of it")
        return collection

    def canonical(self) -> str:
        """The one text of this collection."""
        return canonical_json(self.to_json())

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical text: the parameter digest."""
        return hashlib.sha256(self.canonical().encode()).digest()

    @property
    def cap(self) -> Fraction:
        """``lifetime`` as the number that it always is."""
        assert self.lifetime is not None
        return self.lifetime


def read_canonical(text: str) -> Collection:
    """The collection of a canonical text; any other text of the same fields is refused."""
    try:
        document = json.loads(text, parse_float=_no_float, parse_constant=_no_float, object_pairs_hook=without_doubles)
    except (ValueError, RecursionError) as error:
        raise bad_collection("it is not JSON that can be read") from error
    collection = Collection.from_json(document)
    if collection.canonical() != text:
        raise bad_collection("it is not written in the canonical form")
    return collection


def _misfit_sentence(field: str) -> str:
    return _WORDS.get(field, f'its field "{field}" is missing, unknown or of another kind')


def one_form(text: Any) -> Any:
    """Text in the one form that Unicode has for what is seen: two spellings that look alike are one answer."""
    return unicodedata.normalize("NFC", text) if isinstance(text, str) else text


def _no_float(text: str) -> float:
    raise ValueError(text)


def bad_collection(problem: str) -> BadCollection:
    """The refusal of a configuration."""
    return BadCollection(
        f"this configuration of a collection cannot be used: {problem}.",
        why="Clients and collector must agree on every parameter, or estimates bend and people are not protected.",
        fix="Fetch the signed configuration again, or make one with hubbub.local.Collection(...) and sign it.",
    )
