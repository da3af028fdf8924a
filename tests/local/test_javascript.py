"""The JavaScript client sends what the Python client sends, byte for byte: under node and in a real browser."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from hubbub import local
from hubbub.durable import canonical_json
from hubbub.local.collection.report_layout import PROTOCOLS
from hubbub.terms import BadCollection

from . import _vectors
from .test_client import DAMAGE, DAMAGE_TO_ALL

if os.environ.get("ACCEPT"):
    _vectors.write()

SOURCE = resources.files(local) / "collection" / "js" / "hubbub.js"
MODULE = Path(str(SOURCE))
CHECK = _vectors.PATH.with_name("check.js")
KEY = local.public_text(_vectors.KEY)
WITHOUT = {"laplace", "gaussian"}  # these take as many random words as they need
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]


def test_the_vectors_are_what_this_version_makes() -> None:
    assert json.loads(json.dumps(_vectors.made())) == _vectors.stored()


def test_the_vectors_know_every_protocol_that_has_a_fixed_number_of_words() -> None:
    known = {each["parameters"]["protocol"] for each in _vectors.stored()["randomizers"]}
    assert known == set(PROTOCOLS) - WITHOUT


def script(module: str, vectors: str) -> str:
    return f"""
    import * as hubbub from {json.dumps(module)};
    import {{ check }} from {json.dumps(CHECK.as_uri())};
    import {{ readFileSync }} from "node:fs";
    const vectors = JSON.parse(readFileSync({json.dumps(vectors)}));
    console.log(JSON.stringify(await check(hubbub, {json.dumps(KEY)}, vectors)));
    """


def test_node_sends_the_same_bytes(node: Callable[[str], Any]) -> None:
    assert node(script(MODULE.as_uri(), str(_vectors.PATH))) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if (coin < keep) return value;", "if (coin <= keep) return value;"),
        ("(word * toBig(k)) >> 64n", "(word * toBig(k + 1)) >> 64n"),
        ("const id = this.random(16);", "const id = this.random(16).reverse();"),
        ("view.getBigUint64(8 * i, true)", "view.getBigUint64(8 * i, false)"),
        ("told ? code : this.#anyCode(made)", "code"),
    ],
)
def test_a_planted_fault_is_noticed(node: Callable[[str], Any], tmp_path: Path, right: str, wrong: str) -> None:
    text = MODULE.read_text()
    assert text.count(right) == 1
    (tmp_path / "faulty.mjs").write_text(text.replace(right, wrong))
    assert node(script((tmp_path / "faulty.mjs").as_uri(), str(_vectors.PATH))) != []


def opened(configs: list[str], key: str) -> str:
    """What becomes of each configuration: "opened", or the error's name and message."""
    return f"""
    import {{ openSigned }} from {json.dumps(MODULE.as_uri())};
    const told = [];
    for (const config of {json.dumps(configs)}) {{
      try {{ await openSigned(config, {json.dumps(key)}); told.push("opened"); }}
      catch (error) {{ told.push(`${{error.constructor.name}}: ${{error.message}}`); }}
    }}
    console.log(JSON.stringify(told));
    """


def signed(text: str, key: Any = _vectors.KEY) -> str:
    from hubbub.local.collection.signed_configuration import _CONTEXT

    made = {"hubbub": "signed-collection/1", "collection": text, "key": KEY}
    return json.dumps(made | {"signature": key.sign(_CONTEXT + text.encode()).hex()})


def test_what_was_signed_by_others_is_refused(node: Callable[[str], Any]) -> None:
    good = _vectors.stored()["clients"][0]["config"]
    text = json.loads(good)["collection"]
    stranger = signed(text, local.new_key())
    changed = json.dumps(json.loads(good) | {"collection": text + " "})
    told = node(opened([signed(text), stranger, changed, "", "[]", "{}", "null"], KEY))
    assert told[0] == "opened"
    assert all("signature" in each for each in told[1:3])
    assert all(each.startswith("BadCollection") for each in told[1:])
    assert "signature" in node(opened([good], local.public_text(local.new_key())))[0]


def weaker() -> Iterator[str]:
    """Every randomizer with one threshold moved by a ten-thousandth, toward less noise, and signed."""
    for name, randomizer in _vectors.RANDOMIZERS.items():
        fields = _vectors.collection(name, randomizer, 3).to_json()
        kind = fields["randomizer"]["protocol"]
        for place in range(len(fields["randomizer"].get("thresholds", []))):
            if (kind, place) == ("hybrid", 0):
                continue  # which of the two ways is taken says nothing: any chance will do
            limits = list(randomizer.parameters()["thresholds"])  # type: ignore[arg-type,call-overload]
            step = -1 if (kind, place) == ("unary", 1) else 1
            limits[place] = str(int(limits[place]) + step * (1 << 64) // 10000)
            changed = fields | {"randomizer": fields["randomizer"] | {"thresholds": limits}}
            yield signed(json.dumps(changed, sort_keys=True, separators=(",", ":")))


def test_less_noise_behind_the_same_epsilon_is_refused_even_if_it_is_signed(node: Callable[[str], Any]) -> None:
    told = node(opened(list(weaker()), KEY))
    assert len(told) > 25
    assert [each for each in told if "its thresholds do not keep" not in each] == []


FULL = 1 << 64


def telling() -> Iterator[str]:
    """Every randomizer with a coin that always falls on one side: whoever always lies has told everything."""
    for name, randomizer in _vectors.RANDOMIZERS.items():
        fields = _vectors.collection(name, randomizer, 3).to_json()
        law = fields["randomizer"]
        for place in range(len(law.get("thresholds", []))):
            if (law["protocol"], place) == ("hybrid", 0):
                continue  # which of the two ways is taken says nothing
            for coin in (0, 1, FULL - 1, FULL):
                limits = [str(coin) if i == place else limit for i, limit in enumerate(law["thresholds"])]
                yield rewritten(fields, thresholds=limits)


def rewritten(fields: dict[str, Any], **law: Any) -> str:
    """The collection with a changed law, signed."""
    changed = fields | {"randomizer": fields["randomizer"] | law}
    return signed(json.dumps(changed, sort_keys=True, separators=(",", ":")))


def twisted() -> Iterator[str]:
    """Laws whose numbers are out of range, so that a careless check of their ratios would let them through."""
    kinds = {name: _vectors.collection(name, each, 3).to_json() for name, each in _vectors.RANDOMIZERS.items()}
    yield rewritten(kinds["unary"], thresholds=[str(1000 * FULL), str(-1000 * FULL)])
    yield rewritten(kinds["binary"], thresholds=[str(-FULL)])
    for rows in ([[FULL + 5, -5], [-5, FULL + 5]], [[FULL - 5, 5], [5, FULL - 4]], [[FULL - 1, 1], [FULL - 1, 1, 0]]):
        yield rewritten(kinds["finite"], masses=[[str(mass) for mass in row] for row in rows])
    yield rewritten(kinds["finite"], masses=[[str(FULL), "0"], [str(FULL - 1), "1"]])
    for missing in (3, -1, 0.5, None):
        yield rewritten(kinds["kary of 3"], missing=missing)
    for domain in (1, 2.5, 1 << 25, None):
        yield rewritten(kinds["kary of 3"], domain=domain)
    for order in (4, 1, 3.5):
        yield rewritten(kinds["projective, order 3"], order=order)
    for kind, change in (
        ("binary", {"protocol": "constructor"}),
        ("binary", {"thresholds": None}),
        ("binary", {"thresholds": ["x"]}),
        ("binary", {"thresholds": []}),
        ("hashing", {"buckets": 1.5}),
        ("hashing", {"buckets": 1}),
        ("piecewise", {"window": 32768.5}),
        ("duchi", {"lower": "1"}),
        ("duchi", {"lower": "2"}),
    ):
        yield rewritten(kinds[kind], **change)
    for epsilon in ("1/0", "0", "-1", "1e9", 1, None):
        yield rewritten(kinds["binary"], epsilon=epsilon)


def test_a_law_that_tells_more_than_its_epsilon_is_refused_however_it_is_twisted(node: Callable[[str], Any]) -> None:
    told = node(opened([*telling(), *twisted()], KEY))
    assert len(told) > 120
    assert [each for each in told if not each.startswith("BadCollection")] == []


def test_fields_that_python_refuses_are_refused(node: Callable[[str], Any]) -> None:
    good = _vectors.collection("binary", local.BinaryResponse(epsilon=1), 3).to_json()
    changes: list[dict[str, Any]] = [
        *({"lifetime": value} for value in ("1/0", "99/100", "0", 3, None)),
        *({"version": value} for value in (0, -1, 1.5, "2", None)),
        *({"epochs": value} for value in (0, 1 << 32, 0.5, None)),
        *({"attribute": value} for value in ("", "A", None)),
        *({name: None} for name in ("id", "name", "answers")),
    ]
    told = node(opened([signed(canonical_json(good | change)) for change in [{}, *changes]], KEY))
    assert told[0] == "opened"
    assert [each for each in told[1:] if not each.startswith("BadCollection")] == []
    for change in changes:
        with pytest.raises(BadCollection):
            local.Collection.from_json(good | change)


def test_a_law_of_large_epsilons_is_opened(node: Callable[[str], Any]) -> None:
    """1 - p in doubles is 0 where p is close to 1; what is left of 2^64 is not."""
    large = local.Loloha(epsilon=32, forever=64, domain=10), local.Rappor(epsilon=64, domain=10, report_epsilon=60)
    texts = [local.sign(_vectors.collection("large", each, 1), _vectors.KEY) for each in large]
    assert node(opened(texts, KEY)) == ["opened", "opened"]


def test_no_floats_and_no_other_source_of_chance_are_in_the_sampling() -> None:
    text = MODULE.read_text()
    assert "Math.random" not in text
    assert "Math.exp" not in text
    assert not re.findall(r"\bimport\s", re.sub(r"(?s)/\*\*.*?\*/", "", text))  # depends on nothing
    logs = [line for line in text.splitlines() if "Math.log" in line]
    assert all(re.search(r"loss|Loss|millionths", line) for line in logs)  # only to check what was promised


MEMORY = """
    const items = new Map();
    const storage = { getItem: (name) => items.get(name) ?? null, setItem: (name, value) => items.set(name, value) };
"""


def test_a_client_in_javascript_keeps_its_memory(node: Callable[[str], Any]) -> None:
    config = json.dumps(_vectors.stored()["clients"][2]["config"])
    told = node(f"""
    import {{ Client, openSigned }} from {json.dumps(MODULE.as_uri())};
    {MEMORY}
    const collection = await openSigned({config}, {json.dumps(KEY)});
    const first = await new Client(collection, storage).report(5, 0);
    const again = await new Client(collection, storage).report(6, 0);
    const told = [first.join() === again.join(), first.length];
    await new Client(collection, storage).report(5, 3);
    for (const epoch of [1, 99, -1, 0.5]) {{
      try {{ await new Client(collection, storage).report(5, epoch); told.push("no"); }}
      catch (error) {{ told.push(error.constructor.name); }}
    }}
    storage.setItem("hubbub", "{{");
    try {{ await new Client(collection, storage).report(5, 4); told.push("no"); }}
    catch (error) {{ told.push(error.constructor.name); }}
    console.log(JSON.stringify(told));
    """)
    assert told == [True, 64 + 5, "RangeError", "RangeError", "RangeError", "RangeError", "BadMemory"]


def tried(steps: str) -> str:
    """A script with `attempt(text, epoch)`, which reports under a configuration and notes what became of it."""
    return f"""
    import {{ Client, openSigned }} from {json.dumps(MODULE.as_uri())};
    {MEMORY}
    const told = [];
    const attempt = async (text, epoch, caps) => {{
      try {{
        const bytes = await new Client(await openSigned(text, {json.dumps(KEY)}), storage, {{ caps }}).report(1, epoch);
        told.push(bytes.length);
      }} catch (error) {{ told.push(`${{error.constructor.name}}: ${{error.message}}`); }}
    }};
    {steps}
    console.log(JSON.stringify(told));
    """


def test_a_client_in_javascript_goes_back_to_no_older_version_and_no_other_attribute(
    node: Callable[[str], Any],
) -> None:
    weak = _vectors.collection("version", local.KaryResponse(epsilon=4, domain=3), 9)
    strong = replace(weak, randomizer=local.KaryResponse(epsilon=0.5, domain=3), version=2)
    others = weak, replace(strong, question="Why?"), replace(strong, version=3, attribute="milk")
    texts = [local.sign(each, _vectors.KEY) for each in (weak, strong, *others)]
    told = node(tried(f"for (const text of {json.dumps(texts)}) await attempt(text, told.length ? 1 : 0);"))
    assert told[:2] == [65, 65]
    assert all(each.startswith("BadCollection: this client has followed version 2") for each in told[2:4])
    assert "another attribute" in told[4]


def test_a_client_in_javascript_reads_no_damaged_memory(node: Callable[[str], Any]) -> None:
    text = local.sign(_vectors.collection("damaged", _vectors.RANDOMIZERS["loloha"], 9), _vectors.KEY)
    told = node(
        tried(f"""
    await attempt({json.dumps(text)}, 0);
    const good = JSON.parse(items.get("hubbub"));
    const without = (value, name) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
    const wrong = [
      ...{json.dumps(DAMAGE_TO_ALL)}.map((change) => ({{ ...good, ...change }})),
      ...{json.dumps(sayable(DAMAGE))}.map((change) => ({{ ...good, records: [{{ ...good.records[0], ...change }}] }})),
      ...Object.keys(good).map((name) => without(good, name)),
      ...Object.keys(good.records[0]).map((name) => ({{ ...good, records: [without(good.records[0], name)] }})),
    ];
    for (const document of wrong) {{
      items.set("hubbub", JSON.stringify(document));
      await attempt({json.dumps(text)}, 0);
    }}
    items.set("hubbub", JSON.stringify(good));
    await attempt({json.dumps(text)}, 1);
    """)
    )
    assert told[0] == told[-1] == 69
    assert len(told) > 50
    assert [each for each in told[1:-1] if not str(each).startswith("BadMemory")] == []


def sayable(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those without numbers that JavaScript's JSON cannot say."""
    return [change for change in changes if not re.search("nan|inf", repr(change))]


def test_the_memories_of_both_clients_are_one_format(node: Callable[[str], Any], tmp_path: Path) -> None:
    """What JavaScript stored, Python goes on with."""
    config = _vectors.stored()["clients"][2]["config"]
    told = node(f"""
    import {{ Client, openSigned }} from {json.dumps(MODULE.as_uri())};
    {MEMORY}
    const collection = await openSigned({json.dumps(config)}, {json.dumps(KEY)});
    for (let epoch = 0; epoch < 3; epoch++) await new Client(collection, storage).report(5 + epoch, epoch);
    console.log(JSON.stringify([items.get("hubbub"), new Client(collection, storage).lifetime()]));
    """)
    (tmp_path / "memory").write_text(told[0])
    client = local.Client(config, KEY, state=tmp_path / "memory")
    before = client.lifetime()
    assert float(before.values) == pytest.approx(told[1]["values"])
    client.report(5, epoch=3)
    after = client.lifetime()
    assert after.spent[0].informative == before.spent[0].informative + 1
    assert len(after.spent) == 1


def test_random_bytes_come_from_webcrypto_in_any_amount(node: Callable[[str], Any]) -> None:
    told = node(f"""
    import {{ secureBytes }} from {json.dumps(MODULE.as_uri())};
    const bytes = secureBytes(200000);
    console.log(JSON.stringify([bytes.length, new Set(bytes).size, bytes.slice(-1000).some((b) => b !== 0)]));
    """)
    assert told == [200_000, 256, True]


@pytest.fixture(scope="module")
def browser(component: Callable[[str], str]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=component("chromium"), args=ARGUMENTS)
        yield started
        started.close()


@pytest.mark.browser
def test_a_browser_sends_the_same_bytes(browser: Any) -> None:
    files = {
        "/": ("text/html", "<!doctype html><title>vectors</title>"),
        "/hubbub.js": ("text/javascript", MODULE.read_text()),
        "/check.js": ("text/javascript", CHECK.read_text()),
        "/vectors.json": ("application/json", _vectors.PATH.read_text()),
    }
    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))

    def serve(route: Any) -> None:
        kind, text = files["/" + route.request.url.partition("//localhost/")[2]]
        route.fulfill(body=text, content_type=kind)

    page.route("http://localhost/**", serve)
    page.goto("http://localhost/")
    wrong = page.evaluate(
        """async (key) => {
          const hubbub = await import("/hubbub.js");
          const { check } = await import("/check.js");
          return check(hubbub, key, await (await fetch("/vectors.json")).json());
        }""",
        KEY,
    )
    assert wrong == []
    stored = page.evaluate(
        """async ([config, key]) => {
          const { Client, openSigned } = await import("/hubbub.js");
          const client = new Client(await openSigned(config, key), localStorage);
          const reports = await Promise.all([0, 0, 0].map(() => client.report(1, 0)));
          return [new Set(reports.map(String)).size, JSON.parse(localStorage.getItem("hubbub")).records.length];
        }""",
        [_vectors.stored()["clients"][0]["config"], KEY],
    )
    assert stored == [1, 1]
    assert not complaints
    page.close()


def test_the_package_ships_the_module() -> None:
    """A wheel takes the package's whole folder, less what .gitignore names."""
    root = Path(__file__).parents[2]
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["src/hubbub"]
    assert not wheel.keys() & {"exclude", "include", "only-include"}
    ignored = (root / ".gitignore").read_text().split()
    parts = MODULE.relative_to(root).parts
    assert not [pattern for pattern in ignored for part in parts if fnmatch(part, pattern.strip("/"))]
