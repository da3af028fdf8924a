"""The protocol as pure state machines: agreement, parties, board, masks, reveal, dropout recovery, certificate.

Nothing here opens a file or a socket: messages go in and come out. ``agreement`` is what all sign, ``phases`` the
order, ``party`` and ``board`` the machines. Start with ``party``.
"""

from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.phase_clock import Clock
from hubbub.gopa.protocol.public_state import Inputs, PublicState
from hubbub.gopa.protocol.wire import sign_message

__all__ = ["Clock", "Inputs", "Party", "PublicState", "sign_message"]
