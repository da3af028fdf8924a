"""Run by Flower's own interpreter: ``secagg|gopa CLIENTS COORDINATES``; one round in one process, told as JSON.

The grid is a loop over clients: messages are made, handled by the clients' mods, and collected. One client in twenty
falls silent after it has dealt its shares. For ``gopa``, PYTHONPATH leads to our sources.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.compat.common import recorddict_compat as compat
from flwr.server import LegacyContext, ServerConfig
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import FedAvg
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.supercore.task_identity import TaskIdentity

SHARES, THRESHOLD = 21, 11


class Proxy(ClientProxy):
    """A client that is reached through the grid alone."""

    def __init__(self, node: int) -> None:
        super().__init__(str(node))
        self.node_id = node

    def _never(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    get_properties = get_parameters = fit = evaluate = reconnect = _never


class Everybody:
    """A client manager that samples everybody."""

    def __init__(self, count: int) -> None:
        self.proxies = [Proxy(node) for node in range(1, count + 1)]

    def num_available(self) -> int:
        return len(self.proxies)

    def sample(self, num_clients: int, min_num_clients: int | None = None, criterion: Any = None) -> list[Proxy]:
        return self.proxies


class Loop:
    """A grid: each client's app is called in turn, and its processor time and bytes are counted."""

    def __init__(self, count: int, apps: dict[int, Any], silent: dict[int, int]) -> None:
        self.apps, self.silent, self.round = apps, silent, 0
        self.contexts = {n: Context(1, n, {}, RecordDict(), {}) for n in range(1, count + 1)}
        self.seconds, self.sent = 0.0, 0

    def send_and_receive(self, messages: list[Message], *, timeout: float | None = None) -> list[Message]:
        self.round += 1
        replies = []
        for original in messages:
            node = original.metadata.dst_node_id
            if self.round >= self.silent.get(node, 1 << 30):
                continue
            message = copy.deepcopy(original)  # a network would
            start = time.process_time()
            reply = self.apps[node](message, self.contexts[node])
            self.seconds += time.process_time() - start
            self.sent += sum(
                _size(value) for record in reply.content.config_records.values() for value in record.values()
            )
            replies.append(reply)
        return replies


def _size(value: Any) -> int:
    """Bytes of a value on its way, without Flower's framing."""
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return len(value) if isinstance(value, bytes | str) else 8


def trained(coordinates: int) -> Any:
    """A client app's training: every client moves the model by the same small vector."""
    update = np.full(coordinates, 0.2 / coordinates**0.5)

    def call(message: Message, context: Context) -> Message:
        arrays = parameters_to_ndarrays(compat.recorddict_to_fitins(message.content, True).parameters)
        result = FitRes(Status(Code.OK, ""), ndarrays_to_parameters([arrays[0] + update]), 1, {})
        return Message(compat.fitres_to_recorddict(result, True), reply_to=message)

    return call


def secagg(count: int, coordinates: int) -> tuple[Any, dict[int, Any], dict[int, int]]:
    """Flower's own, with as many shares as it takes for about ten corrupted neighbours."""
    train = trained(coordinates)
    app = lambda message, context: secaggplus_mod(message, context, train)  # noqa: E731
    shares = min(SHARES, count if count % 2 else count - 1)
    workflow = SecAggPlusWorkflow(shares, shares // 2 + 1, max_weight=1.0, clipping_range=8.0)
    return workflow, dict.fromkeys(range(1, count + 1), app), _silent(count, 3)


def gopa(count: int, coordinates: int) -> tuple[Any, dict[int, Any], dict[int, int]]:
    """Ours in its place."""
    from hubbub.gopa.network.flower_server import Workflow, mod
    from hubbub.gopa.protocol.identities import Identity

    people = {node: Identity.new(f"client{node}") for node in range(1, count + 1)}
    known = {one.name: one.member.key for one in people.values()}
    train = trained(coordinates)
    ours = mod(lambda context: people[context.node_id], known=known, norm=1, epsilon=8, delta=1e-6, honest=0.8)
    app = lambda message, context: ours(message, context, train)  # noqa: E731
    workflow = Workflow(known=known, norm=1, epsilon=8, delta=1e-6, honest=0.8)
    return workflow, dict.fromkeys(range(1, count + 1), app), _silent(count, 6)


def _silent(count: int, since: int) -> dict[int, int]:
    return dict.fromkeys(range(1, count // 20 + 1), since)


def main() -> None:
    """One round."""
    name, count, coordinates = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 0, 0
    workflow, apps, silent = {"secagg": secagg, "gopa": gopa}[name](count, coordinates)
    grid = Loop(count, apps, silent)
    context = LegacyContext(Context(1, 0, {}, RecordDict(), {}), ServerConfig(1), FedAvg(), Everybody(count))
    context.state.array_records["parameters"] = compat.parameters_to_arrayrecord(
        ndarrays_to_parameters([np.zeros(coordinates)]), True
    )
    context.state.config_records["config"] = ConfigRecord({"current_round": 1})
    start = time.process_time()
    workflow(grid, context)
    total = time.process_time() - start
    model = compat.arrayrecord_to_parameters(context.state.array_records["parameters"], True)
    told = {
        "client_ms": 1000 * grid.seconds / count,
        "server_s": total - grid.seconds,
        "client_bytes": grid.sent / count,
        "model": parameters_to_ndarrays(model)[0].tolist()[:4],
    }
    if name == "gopa":
        [certificate] = workflow.certificates
        told |= {"std_dev": certificate.variance**0.5, "parties": len(certificate.parties)}
    print("TOLD", json.dumps(told))


if __name__ == "__main__":
    main()
