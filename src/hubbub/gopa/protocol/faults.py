"""Why a message, a party or a whole run was refused: one code each, and whom it names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """A stable code. Those before the line are about a message, the next about a party, the last about a run."""

    MALFORMED = "malformed"  # not one of our messages, or not in its one spelling
    OVERSIZED = "oversized"
    UNKNOWN_PARTY = "unknown-party"
    BAD_SIGNATURE = "bad-signature"
    OTHER_RUN = "other-run"  # another run, or this one under other parameters
    WRONG_PHASE = "wrong-phase"  # too late, too early, or a copy from another phase
    WRONG_HEAD = "wrong-head"  # its author has seen another log
    # ------------------------------------------------ a party
    EQUIVOCATION = "equivocation"  # two different messages for one phase, both signed
    SILENT = "silent"  # no message: a dropout, and no proof of ill will
    BAD_POINT = "bad-point"  # not a point, or the identity
    BAD_KEY = "bad-key"  # a key whose secret the party did not show to know
    WITHHELD_NONCE = "withheld-nonce"
    BAD_NONCE = "bad-nonce"  # not the nonce that was committed to
    BAD_PROOF = "bad-proof"  # value, noise, link, one-hot, squares or consistency
    BAD_SHARES = "bad-shares"  # no polynomial has these shares
    MASK_MISMATCH = "mask-mismatch"  # an edge's commitment is not what the two keys say
    BAD_SEAL = "bad-seal"  # a sealed share does not open its commitment
    FALSE_COMPLAINT = "false-complaint"
    NOT_INVITED = "not-invited"  # a message of a party that is out
    OTHER_MEMBERS = "other-members"  # signs another set than the log says
    BAD_OPENING = "bad-opening"  # a reveal, self-mask or share that does not open what was committed to
    BOTH_RELEASED = "both-released"  # a share that must not be given besides, or instead of, the other one
    # ------------------------------------------------ a run
    BAD_LOG = "bad-log"  # entries and the board's signed closes do not fit
    FORK = "fork"  # the board signed two different logs
    TOO_FEW = "too-few"  # below the agreed number of survivors
    NO_QUORUM = "no-quorum"
    NOT_PRIVATE = "not-private"  # the privacy of those left is weaker than agreed
    STUCK = "stuck"  # too few shares came to repair the sum
    CROWD_TOO_THIN = "crowd-too-thin"  # a party has fewer neighbours left than it accepts
    CONTRADICTION = "contradiction"  # a party is asked to say something else than it has said before


class Refused(Exception):
    """Inside the room only: a message cannot be taken. Who claims to have sent it, if anybody."""

    def __init__(self, fault: Fault, party: int | None = None) -> None:
        self.fault, self.party = fault, party
        super().__init__(fault.value)


@dataclass(frozen=True, slots=True)
class Named:
    """A party, what it did, and when; ``evidence`` are the lines of the log that show it to anybody."""

    party: int
    fault: Fault
    phase: str
    evidence: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Abort:
    """A run that ended without a result, why, and what shows it (for a fork: the two heads that the board signed)."""

    fault: Fault
    phase: str
    evidence: tuple[bytes, ...] = ()
