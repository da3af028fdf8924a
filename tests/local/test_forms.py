"""Both clients refuse every configuration that is not, to the last sign, what they would have made: field by field."""

from __future__ import annotations

import json
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from hubbub import local
from hubbub.durable import canonical_json
from hubbub.local.collection import configuration_forms
from hubbub.local.collection.report_layout import PROTOCOLS
from hubbub.terms import BadCollection, HubbubError

from . import _vectors
from .test_javascript import KEY, MODULE, WITHOUT, signed

Node = Callable[[str], Any]
COLLECTIONS = {
    name: _vectors.collection(name, randomizer, 3).to_json() for name, randomizer in _vectors.RANDOMIZERS.items()
}
WORDED = _vectors.collection("words", local.KaryResponse(epsilon=1, domain=2), 3, answers=("yes", "no")).to_json()


def hostile(value: Any) -> list[Any]:
    """What may stand in a field instead of what belongs there."""
    always = [
        None,
        True,
        False,
        "",
        " ",
        "x",
        [],
        {},
        [[]],
        [None],
        0,
        -1,
        1,
        2,
        10**30,
        -(2**53),
        0.5,
        "NaN",
        "Infinity",
    ]
    if isinstance(value, bool):
        return [*always, int(value), str(value).lower(), not value]
    if isinstance(value, int):
        near = [value + 1, value - 1, -value, value * 2, value + 2**32, float(value) + 0.5]
        return [*always, *near, str(value), f"{value}.0", f"0{value}", [value], {"value": value}]
    if isinstance(value, str):
        return [*always, *_texts(value)]
    if isinstance(value, list):
        return [*always, *_lists(value)]
    return always


def _texts(value: str) -> list[Any]:
    """Texts that a careless reader takes for the same, numbers among them."""
    spelled = [
        f" {value}",
        f"{value} ",
        f"{value}\n",
        f"+{value}",
        f"0{value}",
        f"{value}.0",
        f"{value}/1",
        f"-{value}",
    ]
    signs = [value + "\u200b", "\u202e" + value, value + "\x1b[2J", value + "\x00", value + "\ud800", value + "e\u0301"]
    other = [value.upper(), value.translate({48 + i: 0x660 + i for i in range(10)}), value[:-1], value * 2, [value]]
    if re.fullmatch(r"-?[0-9]+(/[0-9]*[1-9][0-9]*)?", value):
        number = Fraction(value)
        other += [float(number), number.numerator, f"{2 * number.numerator}/{2 * number.denominator}", f"{value}e0"]
        other += [str(number * 2), str(number + 1), str(number - 1), str(number * Fraction(10**9 + 1, 10**9))]
    return [each for each in [*spelled, *signs, *other] if each != value]


def _lists(value: list[Any]) -> list[Any]:
    changed = [value[:-1], [*value, *value[:1]], [*value, "x"], value[::-1], [value], dict(enumerate(map(str, value)))]
    inside = [[*value[:i], new, *value[i + 1 :]] for i in range(min(2, len(value))) for new in hostile(value[i])]
    return [each for each in [*changed, *inside] if each != value]


def mutations(document: dict[str, Any], names: list[str]) -> Iterator[dict[str, Any]]:
    """The document with one field changed, missing, or added."""
    for name in names:
        yield {key: value for key, value in document.items() if key != name}
        for new in hostile(document[name]):
            yield document | {name: new}
    for extra in (
        "more",
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "Epsilon",
        "epsilon ",
        "thresholds2",
        "",
    ):
        yield document | {extra: 1}
        yield document | {extra: {}}


def of_the_law(document: dict[str, Any]) -> Iterator[str]:
    law = document["randomizer"]
    for changed in mutations(law, list(law)):
        yield canonical_json(document | {"randomizer": changed})


def of_the_collection(document: dict[str, Any]) -> Iterator[str]:
    for changed in mutations(document, [name for name in document if name != "randomizer"]):
        yield canonical_json(changed)


def of_the_text(document: dict[str, Any]) -> Iterator[str]:
    """The same fields, written otherwise: said twice, with spaces, escapes, exponents, in another order."""
    text = canonical_json(document)
    yield json.dumps(document)
    yield json.dumps(document, sort_keys=False, separators=(",", ":"))
    yield from (text + " ", "\ufeff" + text, text.replace('"', "'"), text[:-1], f"[{text}]", text + text, "null", "")
    yield from (text.replace('"epochs":3', f'"epochs":{number}') for number in ("3.0", "3e0", "-0", "03", "+3", "0x3"))
    yield from (text.replace('"epochs":3', f'"epochs":{number}') for number in ("NaN", "Infinity", "1e999", "9" * 5000))
    for name, value in document.items():
        said = f"{canonical_json(name)}:{canonical_json(value)}"
        yield text.replace("{", "{" + said + ",", 1)  # twice, with the same value
        yield text.replace("{", f'{{"{name}":null,', 1)
        yield text.replace(said, f"{said},{json.dumps(name)}:null")
    yield text.replace('"protocol":', '"protocol":"kary","protocol":')
    yield text.replace('"protocol":', '"\\u0070rotocol":')
    yield text.replace('"randomizer":{', '"randomizer":{"__proto__":{"epsilon":"1"},')
    yield text.replace('"life"', '"l\\u0069fe"')
    yield "[" * 100_000


def verdict(config: str) -> bool:
    """Whether the Python client opens it; it fails in no other way than ours."""
    try:
        local.open_signed(config, KEY)
    except BadCollection:
        return False
    return True


def asked(node: Node, folder: Path, configs: list[str]) -> list[bool]:
    """Whether the JavaScript client opens each."""
    (folder / "configs.json").write_text(json.dumps(configs))
    told = node(f"""
    import {{ BadCollection, openSigned }} from {json.dumps(MODULE.as_uri())};
    import {{ readFileSync }} from "node:fs";
    const told = [];
    for (const config of JSON.parse(readFileSync({json.dumps(str(folder / "configs.json"))}))) {{
      try {{ await openSigned(config, {json.dumps(KEY)}); told.push(true); }}
      catch (error) {{ told.push(error instanceof BadCollection ? false : `${{error}}`); }}
    }}
    console.log(JSON.stringify(told));
    """)
    assert len(told) == len(configs)
    return list(told)


def unlike(node: Node, folder: Path, texts: list[str], good: set[str]) -> list[str]:
    """The texts about which a client is wrong: everything but the good ones is to be refused, by both."""
    writable = [text for text in texts if text.isascii() or _utf8(text)]
    configs = [signed(text) for text in writable]
    here, there = [verdict(config) for config in configs], asked(node, folder, configs)
    return [
        f"{one} {other} {text[:400]}"
        for text, one, other in zip(writable, here, there, strict=True)
        if not one == other == (text in good)
    ]


def _utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def test_text_for_a_number_of_a_signed_law_is_refused(node: Node, tmp_path: Path) -> None:
    """`code + "24743"` is another place in JavaScript: the window moved, and values could be read off reports."""
    for name in ("piecewise", "hybrid"):
        document = COLLECTIONS[name]
        law = document["randomizer"] | {"window": str(document["randomizer"]["window"])}
        texts = [canonical_json(document), canonical_json(document | {"randomizer": law})]
        assert unlike(node, tmp_path, texts, set(texts[:1])) == []


FREE = {
    "domain",
    "masses",
    "missing",
    "lower",
    "upper",
    "seed",
    "rows",
    "width",
    "flips",
    "functions",
    "bits",
    "cohorts",
}


def test_no_changed_law_is_opened(node: Node, tmp_path: Path) -> None:
    """Unless it is another law that keeps its epsilon, with all its numbers those of that law."""
    texts = [text for document in COLLECTIONS.values() for text in of_the_law(document)]
    configs = [signed(text) for text in texts]
    here, there = [verdict(config) for config in configs], asked(node, tmp_path, configs)
    assert len(texts) > 6000
    assert [text for text, one, other in zip(texts, here, there, strict=True) if one != other] == []
    for text in [text for text, one in zip(texts, here, strict=True) if one]:
        law = json.loads(text)["randomizer"]
        changes = [_changed(law, document["randomizer"]) for document in COLLECTIONS.values()]
        assert min(changes, key=len) <= FREE, text
    assert 0 < sum(here) < 0.05 * len(texts)  # each of them was looked at above


def _changed(law: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in {*law, *other} if law.get(name) != other.get(name)}


def test_no_changed_collection_is_opened_unless_it_is_a_collection(node: Node, tmp_path: Path) -> None:
    """Other names, questions, epochs and versions are collections too: then both open it."""
    texts = [text for document in (COLLECTIONS["loloha"], WORDED) for text in of_the_collection(document)]
    configs = [signed(text) for text in texts if _utf8(text)]
    here, there = [verdict(config) for config in configs], asked(node, tmp_path, configs)
    assert [text for text, one, other in zip(texts, here, there, strict=True) if one != other] == []
    assert 0.02 < sum(here) / len(here) < 0.2


def test_the_same_fields_written_otherwise_are_refused(node: Node, tmp_path: Path) -> None:
    for document in (COLLECTIONS["kary of 3"], WORDED):
        assert (
            unlike(node, tmp_path, [*of_the_text(document), canonical_json(document)], {canonical_json(document)}) == []
        )


def wrapped(config: str) -> Iterator[str]:
    """The signed text itself, changed around the signature."""
    fields = json.loads(config)
    for changed in mutations(fields, list(fields)):
        yield json.dumps(changed)
    for name in fields:
        yield config.rstrip()[:-1] + f',"{name}":{json.dumps(fields[name])}}}'
        yield config.replace("{", f'{{"{name}":"",', 1)
    yield json.dumps(fields | {"signature": fields["signature"].upper()})
    yield json.dumps(fields | {"signature": " ".join(fields["signature"])})
    yield json.dumps(fields | {"key": local.public_text(local.new_key())})
    yield config + " " * (1 << 20)


def test_what_stands_around_the_signature_is_strict_too(node: Node, tmp_path: Path) -> None:
    good = signed(canonical_json(WORDED))
    configs = [config for config in (good, *wrapped(good)) if _utf8(config)]
    here, there = [verdict(config) for config in configs], asked(node, tmp_path, configs)
    assert here == there == [True, *([False] * (len(configs) - 1))]
    assert len(configs) > 100


def laws(rng: random.Random) -> Iterator[local.Randomizer]:
    """Randomizers with parameters all over their ranges."""
    epsilon = rng.choice([Fraction(rng.randint(1, 6400), 100), Fraction(rng.randint(1, 10**6), 10**6), Fraction(1, 3)])
    domain = rng.choice([2, 3, 7, 64, 100, 1000, 4096, rng.randint(2, 5000)])
    means = {"lower": rng.choice([-1, 0, 0.1 + 0.2, "-1/3", 1e-200]), "upper": rng.choice([1, 2.7, 1e300, "22/7"])}
    rows = [[rng.randint(1, 9) for _ in range(5)] for _ in range(3)]
    plain = (local.KaryResponse, local.UnaryEncoding, local.LocalHashing, local.HadamardResponse, local.OneBitHadamard)
    rooms = (local.SubsetSelection, local.ProjectiveGeometry, local.CountMeanSketch)
    makers: list[Callable[[], local.Randomizer]] = [
        lambda: local.BinaryResponse(epsilon=epsilon),
        lambda: local.SignResponse(epsilon=epsilon),
        *(partial(kind, epsilon=epsilon, domain=domain, missing=domain - 1) for kind in plain),
        *(partial(kind, epsilon=epsilon, domain=domain) for kind in rooms),
        lambda: local.UnaryEncoding(epsilon=epsilon, domain=domain, optimized=False),
        lambda: local.HadamardCountMeanSketch(epsilon=epsilon, domain=domain, width=2 ** rng.randint(1, 12)),
        lambda: local.DBitFlip(epsilon=epsilon, domain=domain, flips=rng.randint(1, domain)),
        *(
            partial(kind, epsilon=epsilon, **means)
            for kind in (local.Duchi, local.OneBitMean, local.Piecewise, local.Hybrid)
        ),
        lambda: local.Rappor(epsilon=epsilon, domain=domain, bits=128, cohorts=64, hashes=rng.randint(1, 4)),
        lambda: local.Loloha(epsilon=epsilon / 2, forever=epsilon, domain=domain, buckets=rng.randint(2, 9)),
        lambda: local.FiniteRandomizer([[Fraction(mass, sum(row)) for mass in row] for row in rows]),
    ]
    for make in makers:
        with suppress(HubbubError):  # a combination that Python refuses
            yield make()


def test_every_law_that_python_makes_is_opened_by_both(node: Node, tmp_path: Path, soak: int) -> None:
    """JavaScript works out the thresholds itself, to the last bit, for any epsilon and any domain."""
    rng = random.Random(16)
    texts = [_vectors.collection("any", each, 2).canonical() for _ in range(8 * soak) for each in laws(rng)]
    assert len(texts) > 120
    assert unlike(node, tmp_path, texts, set(texts)) == []


def test_what_two_changes_make_is_judged_alike(node: Node, tmp_path: Path, soak: int) -> None:
    """Also where the second change mends what the first one broke."""
    rng, texts = random.Random(17), []
    for _ in range(400 * soak):
        document = dict(rng.choice(list(COLLECTIONS.values())))
        law = dict(document["randomizer"])
        for _ in range(2):
            name = rng.choice(list(law))
            law[name] = rng.choice(
                [*hostile(law[name]), *(each["randomizer"].get(name) for each in COLLECTIONS.values())]
            )
        texts.append(canonical_json(document | {"randomizer": law}))
    configs = [signed(text) for text in texts]
    here, there = [verdict(config) for config in configs], asked(node, tmp_path, configs)
    assert [text for text, one, other in zip(texts, here, there, strict=True) if one != other] == []


# ---------------------------------------------------------------- the one description


def test_javascript_has_the_very_text_of_the_forms() -> None:
    assert f"const FORMS = {configuration_forms.TABLE.read_text().rstrip()};" in MODULE.read_text()


def test_every_protocol_on_the_wire_has_a_form_and_every_form_is_used() -> None:
    assert set(configuration_forms.form_table()["laws"]) == set(PROTOCOLS)
    for document in COLLECTIONS.values():
        law = document["randomizer"]
        assert {"protocol", *configuration_forms.form_table()["laws"][law["protocol"]]} == set(law)
    assert {each["randomizer"]["protocol"] for each in COLLECTIONS.values()} == set(PROTOCOLS) - WITHOUT


@cache
def _refused_here() -> set[int]:
    return {code for code in range(sys.maxunicode + 1) if not chr(code).isprintable()}


def test_both_clients_call_the_same_signs_plain(node: Node) -> None:
    """But for signs that one of them does not know yet: Unicode grows."""
    there = set(
        node(r"""
    const told = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const sign = String.fromCodePoint(code);
      if (sign !== " " && /[\p{C}\p{Z}]/u.test(sign)) told.push(code);
    }
    console.log(JSON.stringify(told));
    """)
    )
    different = {code for code in there ^ _refused_here() if unicodedata.category(chr(code)) != "Cn"}
    assert different == set()
    for code in (0x1B, 0x202E, 0x2066, 0x200B, 0xFEFF, 0x85, 0x2028, 0xE0001):
        assert code in there


@pytest.mark.parametrize("sign", ["\x1b[31m", "\u202e", "\u2066", "\u200b", "\n", "\x07", "\x9b", "\u2028", "\ud83d"])
@pytest.mark.parametrize("field", ["question", "answers", "name", "attribute"])
def test_signs_that_show_something_else_are_refused_in_every_text(sign: str, field: str) -> None:
    text = f"yes{sign}"
    changed: Any = (text, "no") if field == "answers" else text
    fields: dict[str, Any] = {"name": "n", "question": "?", "randomizer": local.KaryResponse(epsilon=1, domain=2)}
    with pytest.raises(BadCollection):
        local.Collection(**fields | {field: changed})


def test_answers_that_look_alike_are_one_answer(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"name": "n", "question": "?", "randomizer": local.KaryResponse(epsilon=1, domain=2)}
    composed, apart = "caf\u00e9", "cafe\u0301"
    with pytest.raises(BadCollection, match="different"):
        local.Collection(**fields, answers=(composed, apart))
    cafe = local.Collection(**fields, answers=(apart, "tea"))
    assert cafe.answers == (composed, "tea")
    from hubbub.local.collection.client import _value_or_missing

    assert _value_or_missing(cafe, apart) == _value_or_missing(cafe, composed) == 0
