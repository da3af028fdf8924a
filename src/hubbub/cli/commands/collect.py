"""``hubbub collect ...``: ask many people something without holding what any of them answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hubbub.cli.options.collection_folder import (
    CollectionOptions,
    create_collection,
    memory_file,
    open_collection,
    open_collector,
    queue_file,
    read_private_key,
)
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.hidden_input import answer_of, token_of
from hubbub.cli.options.ledgers import AccountOptions
from hubbub.cli.options.pages import AsJson, PictureOptions, show_result
from hubbub.cli.options.values import parse_number
from hubbub.cli.output import streams as output

app = typer.Typer(help="Statistics about people who trust nobody: collect randomized reports.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The collection's folder, as init made it.", metavar="FOLDER")]
Url = Annotated[str, typer.Argument(help="The collector, such as http://127.0.0.1:8765.", metavar="URL")]
Key = Annotated[str, typer.Option("--key", help="The collection's public key, known from elsewhere.", metavar="HEX")]
Host = Annotated[str, typer.Option(help="The address to listen on.", metavar="ADDRESS")]
Port = Annotated[int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535, metavar="N")]
Epoch = Annotated[int | None, typer.Option(help="Only this epoch.", min=0, metavar="N")]


@app.command()
@spread_groups
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder; its name is the collection's.", metavar="FOLDER")],
    *,
    options: CollectionOptions,
    payer: AccountOptions,
    as_json: AsJson = False,
) -> None:
    """Write a signed configuration, its private key, and an empty store."""
    created = create_collection(folder, options, payer)
    show_result(created.text(), created.to_json(), as_json=as_json)


@app.command()
def serve(
    folder: Folder,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    epoch: Annotated[
        list[int] | None, typer.Option(help="An epoch that is open; repeat it. [default: all]", metavar="N")
    ] = None,
    per_token: Annotated[
        int | None, typer.Option(help="Let each token send so many reports an epoch.", metavar="N", min=1)
    ] = None,
    shuffled: Annotated[
        int | None,
        typer.Option(help="Take only a shuffler's batches of at least so many new ones.", metavar="N", min=1),
    ] = None,
    honest: Annotated[
        str, typer.Option(help="The share of a batch's reports that are taken for honest people's.", metavar="SHARE")
    ] = "0.5",
    largest: Annotated[int, typer.Option(help="The most bytes of one batch.", metavar="BYTES", min=1)] = 8 * 2**20,
) -> None:
    """Take reports over HTTP, until interrupted. No address of a sender is kept or logged, and nothing is shown."""
    from hubbub.local.collection import Rules
    from hubbub.local.collection import collector_app as application
    from hubbub.local.collection import serve as run

    share = parse_number(honest, "--honest")
    epochs = frozenset(epoch) if epoch else None
    rules = Rules(open_epochs=epochs, per_token=per_token, shuffled=shuffled, honest=share)  # type: ignore[arg-type]
    with open_collector(folder, rules) as collector:
        output.talk(f"{collector.collection.question} Clients need the key {collector.store.public_key}")
        run(application(collector, largest=largest), host=host, port=port, ready=output.announce_address)


@app.command()
def show(
    folder: Folder,
    host: Host = "127.0.0.1",
    port: Port = 8767,
) -> None:
    """Serve the owner's page, until interrupted: it moves on by the collection's minimum of reports at a time."""
    from hubbub.local.collection import owner_app
    from hubbub.local.collection import serve as run
    from hubbub.web import LOOPBACK

    with open_collector(folder) as collector:
        run(owner_app(collector, hosts=(*LOOPBACK, host)), host=host, port=port, ready=output.announce_address)


@app.command()
def report(
    url: Url,
    key: Key,
    value: Annotated[
        str | None, typer.Argument(help="The answer; - reads it from stdin, so that nobody sees it.", metavar="VALUE")
    ] = None,
    value_file: Annotated[
        Path | None, typer.Option("--value-file", help="A file that holds the answer instead.", metavar="FILE")
    ] = None,
    epoch: Annotated[int, typer.Option(help="The epoch it is for.", min=0, metavar="N")] = 0,
    memory: Annotated[
        Path | None, typer.Option(help="What this client remembers. [default: in the state folder]", metavar="FILE")
    ] = None,
    cap: Annotated[str, typer.Option(help="Most epsilon about one attribute, ever.", metavar="E")] = "8",
    total_cap: Annotated[str, typer.Option(help="Most epsilon about all together, ever.", metavar="E")] = "32",
    token: Annotated[
        str | None,
        typer.Option(
            help="A token, if one is asked for; - reads it from stdin.", metavar="TOKEN", envvar="HUBBUB_TOKEN"
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file that holds the token instead.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Send one answer as a client: randomized here, counted against this client's lifetime."""
    from hubbub.local import Caps
    from hubbub.local.collection import Client, collector_client, report_wire

    answer = answer_of(value, value_file)
    right = token_of(token, token_file, stdin=answer.stdin)
    limits = Caps(attribute=parse_number(cap, "--cap"), total=parse_number(total_cap, "--total-cap"))  # type: ignore[arg-type]
    client = Client(collector_client.fetch(url), key, state=memory_file(memory), caps=limits)
    packed = client.report(answer.value(client.collection), epoch=epoch)
    outcome = collector_client.send(url, report_wire.pack_batch([packed]), token=right)
    lifetime = client.lifetime()
    if as_json:
        output.print_json({"kind": "report", "collector": outcome, "lifetime": lifetime.to_json()})
        return
    output.print_data(_describe_outcome(outcome))
    output.talk(lifetime.sections()[0].paragraphs[0])


@app.command()
@spread_groups
def estimate(
    folder: Folder,
    epoch: Annotated[int | None, typer.Option(help="The epoch. [default: the last one]", min=0, metavar="N")] = None,
    parquet: Annotated[
        list[str] | None, typer.Option(help="Exported reports instead of the store's; repeat it.", metavar="FILES")
    ] = None,
    simplex: Annotated[
        bool, typer.Option("--simplex", help="Also show the nearest possible shares: biased, without intervals.")
    ] = False,
    *,
    page: PictureOptions,
) -> None:
    """What the reports say, with intervals: unbiased, and shown as it came out."""
    from hubbub.local.collection import look_at, read_page

    with open_collector(folder) as collector:
        if parquet:
            from hubbub.local.collection import aggregate

            estimates = look_at(aggregate(parquet, collector.collection, epoch=epoch or 0))
        else:
            estimates = read_page(collector, epoch=epoch)
    page.show(replace(estimates, simplex=simplex))


@app.command()
def export(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A Parquet file.", metavar="FILE")],
    epoch: Epoch = None,
    as_json: AsJson = False,
) -> None:
    """Write the reports as Parquet, without ids and order: one GROUP BY counts them anywhere."""
    from hubbub.local.collection import export as write

    with open_collector(folder) as collector:
        count = write(collector, file, epoch=epoch)
    show_result(
        f"wrote {count:,} reports into {file}", {"kind": "export", "file": str(file), "reports": count}, as_json=as_json
    )


@app.command()
def tokens(
    folder: Folder,
    count: Annotated[int, typer.Option(help="How many.", metavar="N", min=1)] = 1,
    shuffler: Annotated[
        bool, typer.Option("--shuffler", help="For a shuffler, which counts what clients' tokens send.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make tokens, each a right to send; hand them out without noting who got which."""
    from hubbub.local.collection import issue, issue_shuffler

    with open_collector(folder) as collector:
        key, make_one = read_private_key(folder), issue_shuffler if shuffler else issue
        issued = [make_one(collector.collection, key) for _ in range(count)]
    if as_json:
        output.print_json({"kind": "tokens", "tokens": issued})
    else:
        output.print_lines(issued)


@app.command()
def shuffle(
    url: Url,
    key: Key,
    minimum: Annotated[
        int | None, typer.Option(help="Pass on no fewer together. [default: as the collection says]", metavar="N")
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(help="Where reports wait. [default: in the state folder]", metavar="FILE")
    ] = None,
    per_token: Annotated[
        int | None, typer.Option(help="Let each client's token send so many reports an epoch.", metavar="N", min=1)
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file with this shuffler's own token.", metavar="FILE")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8766,
    every: Annotated[float, typer.Option(help="Look so often for a full batch.", metavar="SECONDS", min=0.05)] = 1.0,
) -> None:
    """Stand between clients and the collector at URL: pass reports on without senders, mixed, in batches."""
    from hubbub.local.collection import collector_client
    from hubbub.local.collection import serve as run
    from hubbub.local.shuffling import Shuffler, shuffler_http

    token = token_of(None, token_file)
    configuration = collector_client.fetch(url)
    collection = open_collection(configuration, key)
    shuffler = Shuffler(
        collection, minimum=minimum, queue=queue_file(queue, collection), per_token=per_token, public_key=key
    )
    through = shuffler_http.Relay(
        shuffler, lambda batch: collector_client.send(url, batch, token=token), complain=output.talk
    )
    run(
        shuffler_http.shuffler_app(through, configuration, every=every),
        host=host,
        port=port,
        ready=output.announce_address,
    )


def _describe_outcome(answer: dict[str, object]) -> str:
    """What became of one report, in a word."""
    if answer.get("accepted") or answer.get("taken"):
        return "accepted" if answer.get("accepted") else "taken by the shuffler"
    if answer.get("duplicates"):
        return "it is there already"
    rejected = answer.get("rejected", answer)
    return "rejected: " + ", ".join(rejected if isinstance(rejected, dict) else ["for an unknown reason"])
