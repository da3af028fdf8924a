"""The entries of a ledger as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hubbub.ledger import Entry, Pool, Population, line_of, read_budget, read_charge
from hubbub.render import printable

if TYPE_CHECKING:
    from hubbub.render import Json

EntryFields = Mapping[str, Any]


def entry_time(entry: Entry) -> str:
    """The time of an entry to the second, UTC."""
    return entry.when()[:19].replace("T", " ")


# ---------------------------------------------------------------- the log: one line for each entry


def format_entry(entry: Entry, populations: Mapping[str, Population]) -> str:
    """An entry as one line: number, time (UTC), kind, who, what."""
    fields = entry.fields()
    details = (
        _describe_charge(fields, populations)
        if fields["kind"] == "charge"
        else _DETAILS.get(fields["kind"], _reason_given)(fields)
    )
    words = (
        f"{entry.sequence:>6}  {entry_time(entry)}  {fields['kind']:<10}  {entry_author(entry, fields):<16}  {details}"
    )
    return printable(words.rstrip())


def entry_to_json(entry: Entry) -> dict[str, Json]:
    """An entry as one document, as an export says it."""
    row = (entry.sequence, entry.at, entry.policy, entry.fingerprint, entry.project, "", entry.hash, entry.signature)
    return line_of(row, entry.fields())


def entry_author(entry: Entry, fields: EntryFields) -> str:
    """Who decided, or who asked in which project."""
    if entry.project is not None:
        return f"{fields['analyst']} in {entry.project}"
    return str(fields.get("by", ""))


def _describe_charge(fields: EntryFields, populations: Mapping[str, Population]) -> str:
    pool = Pool(fields["pool"])
    costs = [
        f"{name}: {read_charge(fields, name, currency)[0].measure(currency).describe()}"
        for name in fields["charged"]
        for currency in [populations[name].currency(pool)]
    ]
    title = f" ({fields['title']})" if fields.get("title") else ""
    return "; ".join(costs) + f" for {pool}{title}"


def _describe_budget(fields: EntryFields | None) -> str:
    return "all of it" if fields is None else read_budget(dict(fields)).measure().describe()


def _describe_account(fields: EntryFields) -> str:
    shares = [f"{kind} {fields[kind]}" for kind in ("project", "analyst") if fields[kind]]
    return ", ".join([fields["population"], *shares, fields["pool"]])


def _describe_restore(fields: EntryFields) -> str:
    accounts = ", ".join(
        f"{key.split('/')[0]} ({key.split('/')[-1]})" for key in (*fields["spent"], *fields["unknown"])
    )
    spent = f"what {accounts} spent since then is counted" if accounts else "nothing was spent since then"
    return f"{_describe_gap(fields['lost'])}; {spent}: {fields['why']}"


def _describe_gap(span: list[int] | None) -> str:
    if span is None:
        return "no entry is lost"
    first, last = span
    return f"entry {first} is lost" if first == last else f"entries {first} to {last} are lost"


def _describe_erasure(fields: EntryFields) -> str:
    charges = fields["charges"]
    shown = ", ".join(f"#{n}" for n in charges[:5]) + (", ..." if len(charges) > 5 else "")
    return f"the answers to charges {shown} ({len(charges)}): {fields['why']}"


def _reason_given(fields: EntryFields) -> str:
    return str(fields.get("why", ""))


_DETAILS: dict[str, Callable[[EntryFields], str]] = {
    "ledger": lambda fields: f"ledger {fields['ledger']} begins, public key {fields['key']}",
    "population": lambda fields: (
        f"{fields['population']} opened with {_describe_budget(fields['budget'])}: {fields['why']}"
    ),
    "rules": lambda fields: f"new rules for {fields['population']}: {fields['why']}",
    "grant": lambda fields: (
        f"{_describe_account(fields)}: {_describe_budget(fields['budget'])} granted: {fields['why']}"
    ),
    "revoke": lambda fields: (
        f"{_describe_account(fields)}: {_describe_budget(fields['budget'])} taken back: {fields['why']}"
    ),
    "disjoint": lambda fields: f"{', '.join(fields['populations'])} share nobody: {fields['why']}",
    "dataset": lambda fields: (
        f"{fields['dataset']} {fields['version']} is about {', '.join(fields['populations'])}: {fields['why']}"
    ),
    "plea": lambda fields: (
        f"{_describe_account(fields)}: {_describe_budget(fields['budget'])} asked for: {fields['why']}"
    ),
    "refusal": lambda fields: f"request #{fields['plea']} refused: {fields['why']}",
    "attempt": lambda fields: f"charge #{fields['charge']}, attempt {fields['attempt']}",
    "answer": lambda fields: f"to charge #{fields['charge']}",
    "failure": lambda fields: f"no answer to charge #{fields['charge']}: {fields['reason']}",
    "erase": _describe_erasure,
    "restore": _describe_restore,
}
