"""Averages without a curator: masks that cancel, noise that is proved.

Start with ``average``, then ``protocol/party``.

What people average, in one process:

- ``average(values, of, epsilon=1, delta=1e-6)``: a whole run with its certificate; ``Picture`` draws it
- ``BoundedNumber``, ``Vector``, ``CategoryShares``, ``Gradient``, ``Weighted``, ``PrivatelyWeighted``: a party's input
- ``Subjects``: parties that hold many people, and protect each of them
- ``plan_over``, ``delta_over``: several runs on the same people; ``learn_together``: a model, a run for each step
- ``network/flower_client``: in place of Flower's secure aggregation (its package is imported when it is used)

Parameters and privacy:

- ``plan(1, 1e-6, 1000, honest=0.5)``: noise, picks and thresholds for (epsilon, delta); ``achieved`` by a run
- ``Sensitivity``: what one protected unit can change: a range, a histogram, a vector in a ball
- ``simulate(values, epsilon=1, delta=1e-6, honest=0.5)``: a run in one process, verifiable or as in the lectures
- ``compare(1, 1e-6)``: how far the mean is off, beside a curator and beside the best local protocol
- ``HonestGraph``, ``theorems``: the exact privacy of Gaussian masks on a graph, and the lectures' conditions for it
- ``graph(seed, parties, k)``: a random graph in which each party picks k others

The proofs (the extra ``[gopa]``: libsodium's ristretto255, and C code where the package was built with a compiler):

- ``ristretto``, ``pedersen``, ``transcript``: points and scalars, commitments, challenges bound to a ``Context``
- ``bit_proof``: the coin-signed bit proof for a ``ProofShape``: ``bind`` before the coins, ``prove`` after, ``verify``
- ``schnorr``: a commitment to zero, one key under two points
- ``linked_commitments``, ``sum_of_squares``: numbers and a vector commitment that hold the same; a vector in a ball
- ``verify_many``: any claims at once, the false ones named

The protocol (state machines without input and output: one code for simulator, tests and network):

- ``Agreement``, ``Quantity``, ``Identity``, ``Member``: what all sign before a run, and who they are
- ``Notice``: an agreement in plain words; ``Consent``: what a party takes part in
- ``Attempts``, ``Register``: what runs that came to nothing cost a party
- ``board.step``, ``verifier.step``, ``party.step``: the log, what anybody can work out from it, and one party
- ``verify(log, agreement=...)``: the ``Certificate`` of a run, checked offline; ``Fault``: every reason for a refusal
- ``in_process.run``: a whole run in one process, with dropouts and cheats

The network around it (``hubbub gopa board | party`` on the command line):

- ``Keeper``: a board with its log on disk and a ``Clock``; ``serve`` puts HTTP around it
- ``Host``: one or many parties against a board, in the same process or over an ``HttpLink``; ``Diary``: what they wrote
- ``network.charge_from``: what a party pays before a line leaves; ``CertificateSheet``: a certificate for people

Inside the protocol: ``wire`` and ``log_chain`` (lines), ``public_state`` and ``party_secrets`` (what is known),
``topology`` (picks), ``masks``, ``sealed_shares``, and ``phases``: each phase in one module, with its message, what a
party says, and how it is folded.

Inside the proofs: ``framing`` (what is hashed), ``proof_shape`` (where bits lie), ``secret_streams`` (from a seed),
``scalar_vectors``, ``quadratic``, ``inner_product`` (Bulletproofs), ``point_equations`` (what a verifier adds up),
``multi_scalar`` (sums of public points, by C code if it was built).
"""

from hubbub.gopa import in_process
from hubbub.gopa.average import Average, average
from hubbub.gopa.crypto import bit_proof, linked_commitments, multi_scalar, pedersen, ristretto, schnorr, sum_of_squares
from hubbub.gopa.crypto.batch_verification import verify_many
from hubbub.gopa.crypto.proof_shape import ProofShape
from hubbub.gopa.crypto.transcript import Context, Transcript
from hubbub.gopa.federated_learning import Federated, learn_together
from hubbub.gopa.lectures import theorems
from hubbub.gopa.lectures.gaussian_privacy import HonestGraph
from hubbub.gopa.lectures.random_graphs import Graph, graph
from hubbub.gopa.network.attempts import Attempts, Register
from hubbub.gopa.network.board_http import serve
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Host
from hubbub.gopa.privacy.calibration import Achieved, RunPlan, achieved, plan
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.privacy.trust_comparison import TrustComparison, compare
from hubbub.gopa.protocol import board, party, verifier
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.certificate import Certificate, verify
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.identities import Identity, Member
from hubbub.gopa.protocol.phase_clock import Clock
from hubbub.gopa.quantities.base import PartyInput
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.gopa.quantities.many_people import Subjects
from hubbub.gopa.quantities.numbers import BoundedNumber, CategoryShares, Vector
from hubbub.gopa.quantities.repeated_runs import delta_over, plan_over
from hubbub.gopa.quantities.weighted import PrivatelyWeighted, Weighted
from hubbub.gopa.reports.agreement_notice import Notice
from hubbub.gopa.reports.certificate_sheet import CertificateSheet
from hubbub.gopa.reports.run_picture import Picture
from hubbub.gopa.simulate import Simulation, simulate

__all__ = [
    "Achieved",
    "Agreement",
    "Attempts",
    "Average",
    "BoundedNumber",
    "CategoryShares",
    "Certificate",
    "CertificateSheet",
    "Clock",
    "Consent",
    "Context",
    "Diary",
    "Fault",
    "Federated",
    "Gradient",
    "Graph",
    "HonestGraph",
    "Host",
    "HttpLink",
    "Identity",
    "Keeper",
    "Member",
    "Notice",
    "PartyInput",
    "Picture",
    "PrivatelyWeighted",
    "ProofShape",
    "Quantity",
    "Register",
    "RunPlan",
    "Sensitivity",
    "Simulation",
    "Subjects",
    "Transcript",
    "TrustComparison",
    "Vector",
    "Weighted",
    "achieved",
    "average",
    "bit_proof",
    "board",
    "compare",
    "delta_over",
    "graph",
    "in_process",
    "learn_together",
    "linked_commitments",
    "multi_scalar",
    "party",
    "pedersen",
    "plan",
    "plan_over",
    "ristretto",
    "schnorr",
    "serve",
    "simulate",
    "sum_of_squares",
    "theorems",
    "verifier",
    "verify",
    "verify_many",
]
