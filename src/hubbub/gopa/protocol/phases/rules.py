"""The phases in their order: what a party says in each, and how everybody folds what all have said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hubbub.gopa.protocol.party_secrets import Secrets, Speech, Work
from hubbub.gopa.protocol.phases.complaints import fold_complaints, say_complaints
from hubbub.gopa.protocol.phases.confirm import fold_confirm, sign_confirmation
from hubbub.gopa.protocol.phases.cut import fold_cut, sign_cut
from hubbub.gopa.protocol.phases.dropout_recovery import fold_repair, say_repair
from hubbub.gopa.protocol.phases.folding import Messages
from hubbub.gopa.protocol.phases.join import fold_join, say_join
from hubbub.gopa.protocol.phases.nonce import fold_nonce, say_nonce
from hubbub.gopa.protocol.phases.reveal import fold_reveal, say_reveal
from hubbub.gopa.protocol.phases.share import fold_shares, say_shares
from hubbub.gopa.protocol.public_state import PublicState


@dataclass(frozen=True, slots=True)
class PhaseRules:
    """``say`` gives the body of a party's message (or none) and what it has worked out; ``fold`` the next state."""

    say: Callable[[Secrets, PublicState, Work | None], Speech]
    fold: Callable[[PublicState, Messages], PublicState]


_RULES: Mapping[str, PhaseRules] = {
    "join": PhaseRules(say_join, fold_join),
    "nonce": PhaseRules(say_nonce, fold_nonce),
    "share": PhaseRules(say_shares, fold_shares),
    "complain": PhaseRules(say_complaints, fold_complaints),
    "cut": PhaseRules(sign_cut, fold_cut),
    "reveal": PhaseRules(say_reveal, fold_reveal),
    "confirm": PhaseRules(sign_confirmation, fold_confirm),
}
_REPAIR = PhaseRules(say_repair, fold_repair)


def rules_of(phase: str) -> PhaseRules:
    """The rules of a phase; all rounds of repair have the same."""
    return _RULES.get(phase, _REPAIR)
