"""Confirm: a quorum signs the set of those who revealed, so that all repair one and the same sum."""

from __future__ import annotations

from hubbub.gopa.protocol.party_secrets import Secrets, Speech, Work
from hubbub.gopa.protocol.phases.cut import fold_quorum, packed_members, require_crowd
from hubbub.gopa.protocol.phases.folding import Messages
from hubbub.gopa.protocol.public_state import PublicState


def sign_confirmation(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """The signature under the set of those who revealed: one per run, ever."""
    require_crowd(mine, public, public.counted)
    return packed_members(public.mark), work


def fold_confirm(state: PublicState, messages: Messages) -> PublicState:
    """A quorum signs the set of those who revealed."""
    return fold_quorum(state, messages, state.revealed)
