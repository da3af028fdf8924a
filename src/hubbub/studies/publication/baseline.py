"""The real rows that the tables are compared with: public ones for free, or private ones for a price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hubbub.ledger import AccountLike
from hubbub.mechanisms import DiscreteGaussian
from hubbub.publish import Categorical, Unread, UtilityComparison, compare
from hubbub.studies.publication.methods import PublicationTable
from hubbub.studies.publication.request import PublicationRequest
from hubbub.terms import Event, MissingParameter, OutOfRange

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """Public rows, or the epsilon for comparing with private ones, or neither: then nothing is compared."""

    public: pyarrow.Table | None = None
    epsilon: Any = None
    target: str | None = None

    def checked(self, order: PublicationRequest, schema: pyarrow.Schema) -> list[Event]:
        """What comparing will be charged for, nearly; refuses what could not be compared."""
        if self.public is None and self.epsilon is None:
            return []
        if all(method.has_places for method in order.methods):
            raise MissingParameter(
                "there is no table that could be compared.",
                why="Counts of places have their margins beside them; other tables are compared with rows.",
                fix="Leave --holdout and --measure out.",
            )
        synthetic = any(method.is_synthetic for method in order.methods)
        if order.declared is None and not synthetic:
            raise MissingParameter(
                "comparing needs a public domain.",
                why="The cells in which tables are compared are public facts.",
                fix="Name the file with --domain, or leave --holdout and --measure out.",
            )
        if self.public is not None:
            self._check_public(self.public, schema, order)
            return []
        if order.delta is None:
            raise MissingParameter(
                "--measure needs --delta.", why="The noise on the numbers is Gaussian.", fix="Write --delta 1e-6."
            )
        return [DiscreteGaussian(sensitivity=1, epsilon=self.epsilon, delta=order.delta).event]

    def compared(
        self,
        published: Sequence[PublicationTable],
        private: Unread,
        order: PublicationRequest,
        account: AccountLike | None,
    ) -> UtilityComparison | None:
        """Every table beside the two baselines."""
        tables = {each.name: each.result for each in published if not each.method.has_places}
        asked: dict[str, Any] = {"domain": order.declared, "hierarchies": order.hierarchies}
        if self.public is not None:
            return compare(tables, holdout=self.public, target=self._predicted(order), unit=order.unit, **asked)
        if self.epsilon is None:
            return None
        price = order.shared() | {"epsilon": self.epsilon, "about_rows": order.about}
        return compare(tables, private=private, account=account, **price, **asked)

    def _check_public(self, public: pyarrow.Table, schema: pyarrow.Schema, order: PublicationRequest) -> None:
        missing = [name for name in schema.names if name not in public.column_names and name not in order.names]
        if missing or public.num_rows < 20:
            raise OutOfRange(
                f"the public rows have no column {missing[0]!r}." if missing else "there are not 20 public rows.",
                why="They are compared with the tables, column by column, one half of them with the other.",
                fix=f"Give a file with the columns {', '.join(schema.names)}.",
            )

    def _predicted(self, order: PublicationRequest) -> str | None:
        column = (order.declared or {}).get(self.target or "")
        return self.target if isinstance(column, Categorical) else None
