"""Faults in words, for people."""

from __future__ import annotations

from hubbub.gopa.protocol.faults import Fault

_ABOUT = {
    Fault.SILENT: "said nothing",
    Fault.EQUIVOCATION: "signed two different messages",
    Fault.MALFORMED: "sent something that cannot be read",
    Fault.BAD_POINT: "sent something that is no point of the group",
    Fault.BAD_KEY: "did not show to know its own key",
    Fault.WITHHELD_NONCE: "kept its nonce back",
    Fault.BAD_NONCE: "showed another nonce than it had committed to",
    Fault.BAD_PROOF: "sent a proof that does not hold",
    Fault.BAD_SHARES: "dealt shares that do not fit together",
    Fault.MASK_MISMATCH: "posted a mask that its keys do not give",
    Fault.BAD_SEAL: "sealed a wrong share",
    Fault.FALSE_COMPLAINT: "complained without a reason",
    Fault.OTHER_MEMBERS: "signed another set of parties",
    Fault.BAD_OPENING: "revealed something that it had not committed to",
    Fault.BOTH_RELEASED: "gave a share that must not be given",
    Fault.BAD_LOG: "the log's entries and the board's signatures do not fit",
    Fault.FORK: "the board has signed two different logs",
    Fault.TOO_FEW: "fewer parties were left than was agreed",
    Fault.NO_QUORUM: "too few parties signed the same set",
    Fault.NOT_PRIVATE: "those who were left would have been protected less than agreed",
    Fault.STUCK: "too few shares came to take all masks off",
    Fault.CONTRADICTION: "what was revealed contradicts itself",
}


def describe_fault(fault: Fault) -> str:
    """What a fault means, for people."""
    return _ABOUT.get(fault, fault.value)
