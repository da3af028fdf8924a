"""GOPA in place of Flower's secure aggregation: ``Workflow`` on the server, ``mod`` in the clients' apps.

    ServerApp:  DefaultWorkflow(fit_workflow=Workflow(known=roster, norm=1, epsilon=8, delta=1e-6, honest=0.8))
    ClientApp:  ClientApp(client_fn, mods=[mod(identity, known=roster, norm=1, epsilon=8, delta=1e-6, honest=0.8)])

The server is the board: it delivers, and is trusted for nothing else. Each round every client trains, shortens its
update to ``norm`` and takes part in one run; the model moves by the noisy mean of the updates. Clients check for
themselves who is on the roster, what is averaged, how private it is and at which phase a run is. What a client's
training reports besides (its number of examples, its metrics) stays with it.

Updates are proved number by number: this is for models of some hundred numbers, not for large networks. All clients
count the same. The package ``flwr`` is imported only when one of the two is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.gopa.network.flower_client import RECORD, mod, require_flower
from hubbub.gopa.protocol import board, verifier
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.board import Post, Shut
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.identities import Identity, Member
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.gopa.quantities.repeated_runs import plan_over
from hubbub.terms import Unreachable, fraction_of

__all__ = ["Workflow", "mod"]


@dataclass
class Workflow:
    """What a Flower server does in a round of training; ``certificates`` has those of all rounds.

    ``known`` are the names and keys of all registered clients, as the clients have them. ``honest`` is the share of
    them that is relied on: in a round among a part of them, as many may be corrupted as among all. Without ``known``,
    those who are there count as all; clients that know more people take no part then.

    Guarantee: what the server and the clients learn in all rounds together is (epsilon, delta)-DP for replacing all
    that one honest client has, if the ``honest`` share of the known clients keeps its secrets; whatever else the
    server does, for clients that allow no more ``rounds``.
    Because: each round is a run of GOPA [SBR22], and their moments add up: ``delta_over``, docs/proofs/gopa.md.
    Not covered: what apps send outside of training, such as metrics of evaluation.
    """

    norm: Any
    epsilon: Any
    delta: Any
    honest: Any = Fraction(1, 2)
    dropouts: Any = Fraction(1, 20)
    timeout: float | None = None
    known: Mapping[str, bytes] | None = None

    def __post_init__(self) -> None:
        self.identity = Identity.new("board")
        self.certificates: list[Certificate] = []

    def __call__(self, grid: Any, context: Any) -> None:
        """One round."""
        flwr = require_flower()
        round_ = int(context.state.config_records["config"]["current_round"])
        before = flwr.compat.arrayrecord_to_parameters(context.state.array_records["parameters"], keep_input=True)
        chosen = context.strategy.configure_fit(round_, before, context.client_manager)
        post = _Post(flwr.app, grid, str(round_), self.timeout)
        answers = post.ask({proxy.node_id: flwr.app.RecordDict() for proxy, _ in chosen}, {"stage": "member"})
        there = [(proxy, ins) for proxy, ins in chosen if proxy.node_id in answers]
        members = [_parse_member(answers[proxy.node_id]) for proxy, _ in there]
        arrays = flwr.common.parameters_to_ndarrays(before)
        agreed = self._agreement(members, sum(array.size for array in arrays), context.config.num_rounds, round_)
        fits = {proxy.node_id: flwr.compat.fitins_to_recorddict(ins, True) for proxy, ins in there}
        certificate = self._run(post, agreed, fits)
        self.certificates.append(certificate)
        if certificate.complete:
            moved = flwr.common.ndarrays_to_parameters(_apply_update(arrays, [float(one) for one in certificate.means]))
            self._tell(context, round_, moved, [proxy for proxy, _ in there], certificate)

    def _agreement(self, members: list[Member], width: int, rounds: int, round_: int) -> Agreement:
        of = Gradient(width, self.norm)
        run_plan = plan_over(
            of,
            len(members),
            runs=rounds,
            epsilon=self.epsilon,
            delta=self.delta,
            honest=self._honest(len(members)),
            dropouts=self.dropouts,
        )
        return Agreement(tuple(members), self.identity.member.key, run_plan, of.quantity, f"round {round_}")

    def _honest(self, there: int) -> Fraction:
        """The honest share of those who are there, if all are there who work against them."""
        everybody = max(there, len(self.known or ()))
        corrupted = everybody - math.ceil(fraction_of(self.honest, name="honest", one=True) * everybody)
        if there - corrupted < 2:
            raise Unreachable(
                f"{there} clients are there, and {corrupted} of the {everybody} known may work against them.",
                why="Fewer than two honest clients might be in this round.",
                fix="Wait for more clients, or rely on a larger honest share.",
            )
        return Fraction(there - corrupted, there)

    def _run(self, post: _Post, agreed: Agreement, fits: Mapping[int, Any]) -> Certificate:
        """The phases of a run, with the clients behind the grid."""
        log, state = board.open_board(agreed, self.identity), verifier.start(agreed)
        fresh: Sequence[bytes] = ()
        records: Mapping[int, Any] = fits
        while not state.over:
            asked = {"stage": state.phase, "lines": list(fresh)}
            if state.phase == "join":
                asked["agreement"] = agreed.text()
            for answer in post.ask(records, asked).values():
                if answer["line"]:
                    log, _ = board.step(log, Post(bytes(answer["line"])))
            log, _ = board.step(log, Shut())
            fresh, state = log.chapters[-1], verifier.step(state, log.chapters[-1])
            records = {node: post.app.RecordDict() for node in fits}
        return Certificate(state, ("agreement",))

    def _tell(self, context: Any, round_: int, moved: Any, proxies: list[Any], certificate: Certificate) -> None:
        """Flower's strategy is told the mean, as what each client of the result has."""
        common, compat = require_flower().common, require_flower().compat
        assert certificate.state.result is not None
        fine = common.Status(common.Code.OK, "")
        results = [
            (proxies[place], common.FitRes(fine, moved, num_examples=1, metrics={}))
            for place in certificate.state.result.parties
        ]
        aggregate, metrics = context.strategy.aggregate_fit(round_, results, [])
        if aggregate:
            context.state.array_records["parameters"] = compat.parameters_to_arrayrecord(aggregate, True)
            context.history.add_metrics_distributed_fit(server_round=round_, metrics=metrics)


@dataclass(frozen=True)
class _Post:
    """Questions to clients, and the answers of those who answered."""

    app: Any
    grid: Any
    group: str
    timeout: float | None

    def ask(self, contents: Mapping[int, Any], asked: Mapping[str, Any]) -> dict[int, Any]:
        messages = []
        for node, content in contents.items():
            content.config_records[RECORD] = self.app.ConfigRecord(dict(asked))
            messages.append(self.app.Message(content, dst_node_id=node, message_type="train", group_id=self.group))
        replies = self.grid.send_and_receive(messages, timeout=self.timeout)
        return {r.metadata.src_node_id: r.content.config_records[RECORD] for r in replies if not r.has_error()}


def _parse_member(record: Any) -> Member:
    return Member(str(record["name"]), bytes(record["key"]))


def _apply_update(arrays: Sequence[Any], update: Sequence[float]) -> list[Any]:
    """The model after the mean update."""
    import numpy as np

    ends = np.cumsum([array.size for array in arrays])[:-1]
    parts = np.split(np.asarray(update), ends)
    return [array + part.reshape(array.shape) for array, part in zip(arrays, parts, strict=True)]
