"""Parties and board as processes: HTTP, logs on disk, charges before a reveal, Flower.

``party_runner`` and ``board_server`` run the machines of ``protocol``; ``board_http`` and ``board_link`` carry their
messages; ``party_log`` keeps what a party may not forget. Other rooms take the names below, or those of
``hubbub.gopa``. Start with ``party_runner``.
"""

from hubbub.gopa.network.board_http import serve
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.board_server import Keeper, Standing
from hubbub.gopa.network.party_log import Before, Diary, earlier_input
from hubbub.gopa.network.party_runner import Charge, Host, RunOutcome, no_charge
from hubbub.gopa.network.reveal_charge import charge_from, charge_with_consent, require_affordable

__all__ = [
    "Before",
    "Charge",
    "Diary",
    "Host",
    "HttpLink",
    "Keeper",
    "RunOutcome",
    "Standing",
    "charge_from",
    "charge_with_consent",
    "earlier_input",
    "no_charge",
    "require_affordable",
    "serve",
]
