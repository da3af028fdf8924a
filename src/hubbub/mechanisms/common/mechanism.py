"""What every mechanism has: an event, and a few words about itself."""

from __future__ import annotations

from fractions import Fraction

from hubbub.terms import Step


class Mechanism:
    """Something that releases, and leaves an event behind."""

    event: Step  # what a release does, as data for accounting and the ledger

    def __repr__(self) -> str:
        numbers = {name: getattr(self.event, name, None) for name in ("sensitivity", "scale", "sigma", "epsilon")}
        numbers |= {name: getattr(self.event, name, None) for name in ("rho", "delta")}
        parameters = ", ".join(
            f"{name}={float(value):.6g}" for name, value in numbers.items() if isinstance(value, Fraction)
        )
        return f"{type(self).__name__}({parameters}, neighbours={self.event.neighbours.value!r})"
