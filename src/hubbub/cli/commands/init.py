"""``hubbub init``: from a file to a commented descriptor to a first answer."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.commands.dataset import check_descriptor, draft_descriptor, left_open, new_file, write_new
from hubbub.cli.options import values
from hubbub.cli.options.connections import ConnectionOptions, open_connection
from hubbub.cli.options.pages import AsJson
from hubbub.cli.options.source_facts import Allowance, Bounds, Header, Keys, MaxRows, SourceFacts, Unit
from hubbub.cli.output import streams as output
from hubbub.cli.output.terminal import ask

if TYPE_CHECKING:
    from hubbub.cli.options.descriptor_blanks import FileFacts
    from hubbub.releases import Release
    from hubbub.schema import Dataset


def init(
    file: Annotated[str, typer.Argument(help="A Parquet or CSV file.", metavar="FILE")],
    unit: Unit = None,
    max_rows: MaxRows = None,
    bound: Bounds = None,
    key: Keys = None,
    budget: Allowance = None,
    header: Header = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Ask a first question for that: how many people?", metavar="E")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The descriptor. [default: beside the file]", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a descriptor for a file, check it, and ask a first question.

    It asks for what was not said on a terminal only. What stays unsaid stays a blank in the descriptor.
    """
    from hubbub.cli.options.descriptor_blanks import FileFacts, fill_blanks

    place = out or Path(file).with_suffix(".toml")
    new_file(place)
    facts = FileFacts(file, unit, max_rows, budget, tuple(bound or ()), tuple(key or ()), header)
    if sys.stdin.isatty() and sys.stderr.isatty():
        facts = _ask_for_facts(facts)
    text = draft_descriptor([facts], name=None, folder=place.parent)
    write_new(place, fill_blanks(text, facts.blanks()))
    output.talk(f"wrote {place}")
    _go_on(place, check_descriptor(place), epsilon, as_json=as_json)


def _go_on(place: Path, dataset: Dataset, epsilon: str | None, *, as_json: bool) -> None:
    """What is left open, a first answer if there is a price, and what to type next."""
    from hubbub.cli.output.answers import answer_to_json, show_answer

    advice, (first, second) = list(left_open(dataset)), _suggest_questions(dataset)
    release = None if epsilon is None else _ask_first_question(place, first, epsilon)
    following = first if epsilon is None else second
    command = f"hubbub query {shlex.quote(str(place))} {shlex.quote(following)} --epsilon {epsilon or '0.5'}"
    if as_json:
        answer = None if release is None else answer_to_json(release)
        output.print_json({"kind": "descriptor", "file": str(place), "open": advice, "next": command, "answer": answer})
        return
    if release is not None:
        show_answer(release)
    for words in (*advice, f"Next: {command}"):
        output.talk(words)


def _ask_first_question(place: Path, question: str, epsilon: str) -> Release:
    from hubbub.cli.commands.query import ask_question

    with open_connection(SourceFacts(str(place)), ConnectionOptions()) as connection:
        return ask_question(connection, question, epsilon=values.parse_number(epsilon, "--epsilon"))


def _suggest_questions(dataset: Dataset) -> tuple[str, str]:
    """How many people there are; and how many by a column with public keys, or how many rows if there is none."""
    table = dataset.tables[0]
    count = f"COUNT(DISTINCT {_quote_name(table.link.column)})" if table.link is not None else "COUNT(*)"
    people, place = f"{count} AS people", f"FROM {_quote_name(table.name)}"
    key = next((_quote_name(column.name) for column in table.columns if column.values), None)
    if key is not None:
        return f"SELECT {people} {place}", f"SELECT {key}, {people} {place} GROUP BY {key}"
    return f"SELECT {people} {place}", f"SELECT COUNT(*) AS n {place}"


def _quote_name(name: str) -> str:
    """A name as SQL writes it."""
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'


def _ask_for_facts(facts: FileFacts) -> FileFacts:
    """The same with answers to what was not said; an empty answer leaves a blank."""
    output.talk(f"{_known_columns(facts)}An empty answer leaves a blank to fill in later.")
    unit = facts.unit or ask("Who is protected? A column that tells people apart, or 'row':")
    most = facts.max_rows
    if most is None and unit not in (None, "row"):
        words = ask("How many rows of one of them may count?")
        most = None if words is None else int(values.parse_number(words, "the number of rows"))
    budget = facts.budget or ask("What may be spent on them in all? EPSILON,DELTA such as 3,1e-6:")
    return replace(facts, unit=unit, max_rows=most, budget=budget)


def _known_columns(facts: FileFacts) -> str:
    """What the columns are called; nothing of a CSV file whose first line may be a person's record."""
    from hubbub.schema import is_csv

    known = facts.header or facts.named() or not is_csv(facts.file)
    return f"{facts.file} has the columns {', '.join(facts.columns())}. " if known else ""
