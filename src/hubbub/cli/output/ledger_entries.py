"""The entries of a ledger as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hubbub.ledger import Entry, Pool, Population, amount_of, line_of, read_budget

if TYPE_CHECKING:
    from hubbub.render import Json

Said = Mapping[str, Any]


def plain(text: str) -> str:
    """Words that somebody else wrote, on one line and without signs that steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def time_of(entry: Entry) -> str:
    """The time of an entry to the second, UTC."""
    return entry.when()[:19].replace("T", " ")


# ---------------------------------------------------------------- the log: one line for each entry


def line(entry: Entry, populations: Mapping[str, Population]) -> str:
    """An entry as one line: number, time (UTC), kind, who, what."""
    said = entry.fields()
    details = _charge(said, populations) if said["kind"] == "charge" else _DETAILS.get(said["kind"], _reason)(said)
    words = f"{entry.sequence:>6}  {time_of(entry)}  {said['kind']:<10}  {who_of(entry, said):<16}  {details}"
    return plain(words.rstrip())


def to_json(entry: Entry) -> dict[str, Json]:
    """An entry as one document, as an export says it."""
    row = (entry.sequence, entry.at, entry.policy, entry.fingerprint, entry.project, "", entry.hash, entry.signature)
    return line_of(row, entry.fields())


def who_of(entry: Entry, said: Said) -> str:
    """Who decided, or who asked in which project."""
    if entry.project is not None:
        return f"{said['analyst']} in {entry.project}"
    return str(said.get("by", ""))


def _charge(said: Said, populations: Mapping[str, Population]) -> str:
    pool = Pool(said["pool"])
    costs = [
        f"{name}: {amount_of(*cost[:2]).measure(populations[name].currency(pool)).describe()}"
        for name, cost in said["charged"].items()
    ]
    title = f" ({said['title']})" if said.get("title") else ""
    return "; ".join(costs) + f" for {pool}{title}"


def _budget(said: Said | None) -> str:
    return "all of it" if said is None else read_budget(dict(said)).measure().describe()


def _place(said: Said) -> str:
    shares = [f"{kind} {said[kind]}" for kind in ("project", "analyst") if said[kind]]
    return ", ".join([said["population"], *shares, said["pool"]])


def _restore(said: Said) -> str:
    accounts = ", ".join(f"{key.split('/')[0]} ({key.split('/')[-1]})" for key in (*said["spent"], *said["unknown"]))
    spent = f"what {accounts} spent since then is counted" if accounts else "nothing was spent since then"
    return f"{_lost(said['lost'])}; {spent}: {said['why']}"


def _lost(span: list[int] | None) -> str:
    if span is None:
        return "no entry is lost"
    first, last = span
    return f"entry {first} is lost" if first == last else f"entries {first} to {last} are lost"


def _erase(said: Said) -> str:
    charges = said["charges"]
    shown = ", ".join(f"#{n}" for n in charges[:5]) + (", ..." if len(charges) > 5 else "")
    return f"the answers to charges {shown} ({len(charges)}): {said['why']}"


def _reason(said: Said) -> str:
    return str(said.get("why", ""))


_DETAILS: dict[str, Callable[[Said], str]] = {
    "ledger": lambda said: f"ledger {said['ledger']} begins, public key {said['key']}",
    "population": lambda said: f"{said['population']} opened with {_budget(said['budget'])}: {said['why']}",
    "rules": lambda said: f"new rules for {said['population']}: {said['why']}",
    "grant": lambda said: f"{_place(said)}: {_budget(said['budget'])} granted: {said['why']}",
    "revoke": lambda said: f"{_place(said)}: {_budget(said['budget'])} taken back: {said['why']}",
    "disjoint": lambda said: f"{', '.join(said['populations'])} share nobody: {said['why']}",
    "dataset": lambda said: (
        f"{said['dataset']} {said['version']} is about {', '.join(said['populations'])}: {said['why']}"
    ),
    "plea": lambda said: f"{_place(said)}: {_budget(said['budget'])} asked for: {said['why']}",
    "refusal": lambda said: f"request #{said['plea']} refused: {said['why']}",
    "attempt": lambda said: f"charge #{said['charge']}, attempt {said['attempt']}",
    "answer": lambda said: f"to charge #{said['charge']}",
    "failure": lambda said: f"no answer to charge #{said['charge']}: {said['reason']}",
    "erase": _erase,
    "restore": _restore,
}
