"""The protocol as pure state machines: messages go in and come out, and nothing here opens a file or a socket.

``agreement`` is what all sign before a run. ``party``, ``board`` and ``verifier`` are the machines; ``phases/`` says
what each phase asks of them, ``public_state`` and ``party_secrets`` what they know, ``wire`` how lines look. Outside of
the room the names below are used, and the machines from ``hubbub.gopa``. Start with ``party``, then ``phases/``.
"""

from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.phase_clock import Clock
from hubbub.gopa.protocol.public_state import Inputs, PublicState
from hubbub.gopa.protocol.wire import sign_message

__all__ = ["Clock", "Inputs", "Party", "PublicState", "sign_message"]
