"""What the commands of ``hubbub collect`` share: a collection's folder, what was typed about it, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options.ledgers import AccountOptions
from hubbub.cli.options.values import parse_number

if TYPE_CHECKING:
    from hubbub.durable import SigningKey
    from hubbub.local import Randomizer
    from hubbub.local.collection import Collection, Collector, Rules
    from hubbub.render import Json

CONFIGURATION, KEY, STORE = "collection.json", "collection.key", "reports.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOptions:
    """A collection as it was typed."""

    question: Annotated[str, typer.Option(help="What people are asked.", metavar="TEXT")]
    epsilon: Annotated[str, typer.Option(help="What one report may give away; there is no default.", metavar="E")]
    answers: Annotated[
        str | None, typer.Option(help="The possible answers, with commas between them.", metavar="A,B,...")
    ] = None
    values: Annotated[int | None, typer.Option(help="Answers are 0, ..., N-1.", metavar="N", min=2)] = None
    between: Annotated[
        str | None, typer.Option(help="Answers are numbers, and their mean is wanted.", metavar="LOW:HIGH")
    ] = None
    protocol: Annotated[str | None, typer.Option(help="The randomizer. [default: the best]", metavar="NAME")] = None
    forever: Annotated[
        str | None, typer.Option(help="Remember answers: epsilon of one that never changes.", metavar="E")
    ] = None
    epochs: Annotated[int, typer.Option(help="How often each person is asked.", metavar="N", min=1)] = 1
    lifetime: Annotated[
        str | None, typer.Option(help="The most epsilon it takes from a person. [default: all epochs]", metavar="E")
    ] = None
    attribute: Annotated[
        str | None, typer.Option(help="What it is about, for clients' caps. [default: the name]", metavar="NAME")
    ] = None
    minimum: Annotated[int, typer.Option(help="Estimate nothing from fewer reports.", metavar="N", min=1)] = 100

    def collection(self, name: str) -> Collection:
        """The collection that was meant."""
        from hubbub.local.collection import Collection

        labels = tuple(part.strip() for part in self.answers.split(",")) if self.answers else ()
        return Collection(
            name=name,
            question=self.question,
            randomizer=self._randomizer(len(labels) or self.values),
            answers=labels,
            attribute=self.attribute or "",
            epochs=self.epochs,
            lifetime=None if self.lifetime is None else parse_number(self.lifetime, "--lifetime"),  # type: ignore[arg-type]
            minimum_batch=self.minimum,
        )

    def _randomizer(self, domain: int | None) -> Randomizer:
        if sum(given is not None for given in (self.answers, self.values, self.between)) != 1:
            raise typer.BadParameter("say what can be answered: --answers, --values or --between (one of them).")
        epsilon = parse_number(self.epsilon, "--epsilon")
        if domain is None:
            return _mean_randomizer(self.protocol or "hybrid", str(self.between), epsilon)
        if self.forever is not None:
            from hubbub.local import Loloha

            return Loloha(epsilon=epsilon, forever=parse_number(self.forever, "--forever"), domain=domain)
        return _frequency_randomizer(self.protocol, domain, epsilon)


def _frequency_randomizer(protocol: str | None, domain: int, epsilon: Decimal) -> Randomizer:
    from hubbub import local

    if protocol is None:
        return local.choose(domain=domain, epsilon=epsilon).randomizer
    kinds: dict[str, type[Randomizer]] = {
        "kary": local.KaryResponse,
        "unary": local.UnaryEncoding,
        "subset": local.SubsetSelection,
        "hashing": local.LocalHashing,
        "hadamard": local.HadamardResponse,
        "onebit": local.OneBitHadamard,
        "projective": local.ProjectiveGeometry,
    }
    return _build_randomizer(kinds, protocol, epsilon=epsilon, domain=domain)


def _mean_randomizer(protocol: str, between: str, epsilon: Decimal) -> Randomizer:
    from hubbub import local

    low, separator, high = between.partition(":")
    if not separator:
        raise typer.BadParameter(f"'{between}' is not LOW:HIGH, such as 0:100.", param_hint="--between")
    kinds: dict[str, type[Randomizer]] = {"hybrid": local.Hybrid, "duchi": local.Duchi, "piecewise": local.Piecewise}
    ends = {"lower": parse_number(low, "--between"), "upper": parse_number(high, "--between")}
    return _build_randomizer(kinds, protocol, epsilon=epsilon, **ends)


def _build_randomizer(kinds: dict[str, type[Randomizer]], protocol: str, **parameters: Decimal | int) -> Randomizer:
    if protocol not in kinds:
        raise typer.BadParameter(f"choose one of {', '.join(kinds)}.", param_hint="--protocol")
    return kinds[protocol](**parameters)


# ---------------------------------------------------------------- the folder


@dataclass(frozen=True, slots=True)
class CollectionFolder:
    """What ``init`` wrote."""

    folder: Path
    collection: Collection
    public_key: str
    receipt: int | None

    def text(self) -> str:
        """For people."""
        randomizer = self.collection.randomizer
        charged = "Charged to no ledger." if self.receipt is None else f"Charged: receipt #{self.receipt}."
        return (
            f"{self.folder / CONFIGURATION}  the signed configuration: public\n"
            f"{self.folder / KEY}   its private key: secret, and not needed to collect\n"
            f"{self.folder / STORE}       the store\n"
            f"Each report: {randomizer.protocol}, epsilon = {float(randomizer.epsilon):g}, "
            f"{randomizer.payload_bytes} bytes. {charged}\n"
            f"Clients need this key, by a way that you trust: {self.public_key}"
        )

    def to_json(self) -> dict[str, Json]:
        """For programs."""
        return {
            "kind": "collection",
            "folder": str(self.folder),
            "collection": self.collection.to_json(),
            "digest": self.collection.digest.hex(),
            "public_key": self.public_key,
            "receipt": self.receipt,
        }


def create_collection(folder: Path, options: CollectionOptions, payer: AccountOptions) -> CollectionFolder:
    """Write configuration, key and store; charge first, so that nothing is collected that was not."""
    from hubbub.local.collection import Store, charge_collection, key_text, new_key, public_text, sign

    if (folder / STORE).exists():
        raise typer.BadParameter(f"{folder} holds a collection already.", param_hint="FOLDER")
    collection, key = options.collection(folder.name), new_key()
    with payer.open() as account:
        receipt = None if account is None else charge_collection(collection, account)
    signed, public = sign(collection, key), public_text(key)
    _write_file(folder / KEY, key_text(key) + "\n", mode=0o600)
    _write_file(folder / CONFIGURATION, signed, mode=0o644)
    with Store.create(folder / STORE, configuration=signed, public_key=public) as store:
        if receipt is not None:
            store.keep_receipt(receipt)
    return CollectionFolder(folder, collection, public, None if receipt is None else receipt.sequence)


def _write_file(path: Path, content: str, *, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=mode)
        path.chmod(mode)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror}", param_hint="FOLDER") from None


def open_collector(folder: Path, rules: Rules | None = None) -> Collector:
    """The collector of a folder."""
    from hubbub.local.collection import Collector

    return Collector(folder / STORE, rules=rules)


def read_private_key(folder: Path) -> SigningKey:
    """The private key of a folder."""
    from hubbub.local.collection import read_key

    try:
        return read_key((folder / KEY).read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"cannot read {folder / KEY}: {error.strerror}", param_hint="FOLDER") from None


def open_collection(configuration: str, key: str) -> Collection:
    """The collection of a signed configuration."""
    from hubbub.local.collection import open_signed

    return open_signed(configuration, key)


# ---------------------------------------------------------------- a client's side


def memory_file(given: Path | None) -> Path:
    """Where a client remembers what it has ever given away."""
    return given or _state_folder() / "client.json"


def queue_file(given: Path | None, collection: Collection) -> Path:
    """Where reports wait in a shuffler of this collection."""
    return given or _state_folder() / f"shuffle-{collection.id}.db"


def _state_folder() -> Path:
    from hubbub.ledger import SecondPlace

    folder = SecondPlace(None).folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
