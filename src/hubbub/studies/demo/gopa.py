"""Chapter: hospitals that trust nobody, not even each other, and still learn what they have in common."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from statistics import fmean

from hubbub.gopa import Average, BoundedNumber, Certificate, Picture, Subjects, average, verify
from hubbub.gopa.protocol import Party, PublicState, sign_message
from hubbub.render import Section, short
from hubbub.studies.demo.hospital import Hospital
from hubbub.terms import MissingExtra, install_command

HEADING = "11. Nobody to trust, and nearly as accurate"
TOWNS = ("Aix", "Bern", "Cork", "Derby", "Essen", "Fulda", "Genoa", "Halle")
PATIENTS = 250  # at most, for each hospital
MINUTES = BoundedNumber(0, 120)
LOST, LIAR = TOWNS.index("Essen"), TOWNS.index("Cork")
EPSILON, DELTA, HONEST = 1, 1e-6, 0.75


@dataclass(frozen=True, slots=True)
class Together:
    """What came of it."""

    truth: float  # of the patients that are in it; made up, and known to nobody in the story
    average: Average
    checked: Certificate


def chapter(hospital: Hospital) -> Section:
    """Average what twelve hospitals would show nobody."""
    try:
        together = run_average()
    except MissingExtra:
        return Section(HEADING, (f"This chapter needs a package more: {install_command('gopa')}.",))
    average, plan = together.average, together.average.plan
    low, high = average.interval()
    picture = Picture(together.checked)
    return Section(
        HEADING,
        (
            f"How long do patients wait? {len(TOWNS)} hospitals would like to know it of all their patients together. "
            "None shows its own figure, and there is nobody whom all of them trust. So each masks its sum with numbers "
            "that it shares with others and that cancel, adds a little noise, and shows the outcome, which looks "
            f"random. All together tell: {average.value:.1f} minutes, between {low:.1f} and {high:.1f}, 95 times out "
            f"of 100. The truth, which nobody has, is {together.truth:.1f}.",
            f"It protects every patient: epsilon = {short(plan.epsilon)}, even if {plan.corrupted} of the hospitals "
            "work together against the others, and with the board through which all messages go.",
            f"{TOWNS[LOST]} was cut off in the middle, and the others repaired the sum. {TOWNS[LIAR]} lied about its "
            "random numbers; it was found out, named and left out. The log of the run was then checked by somebody who "
            "knows nothing else: "
            f"{'the same result' if together.checked.means == _certified_means(average) else 'another result'}. "
            "`hubbub gopa` runs this between machines.",
        ),
        picture.sections()[0].table,
        replace(picture.figure(), name="hospitals"),
    )


def run_average() -> Together:
    """The run, with one hospital that is lost and one that lies."""
    waits = made_up()
    average_of_towns = average(
        waits,
        Subjects(MINUTES, most=PATIENTS, sizes=tuple(map(len, waits))),
        epsilon=EPSILON,
        delta=DELTA,
        honest=HONEST,
        dropouts=0.25,
        names=TOWNS,
        title="minutes of waiting",
        drops={LOST: "reveal"},
        cheats={LIAR: show_other_nonce},
    )
    inside = [
        minutes for town, ward in zip(TOWNS, waits, strict=True) if town in average_of_towns.parties for minutes in ward
    ]
    return Together(fmean(inside), average_of_towns, verify(average_of_towns.log))


def show_other_nonce(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> list[bytes]:
    """Show another nonce than the one committed to."""
    if public.phase != "nonce":
        return list(lines)
    return [sign_message(party.agreement, party.identity, "nonce", public.head, {"nonce": "A" * 43})]


def made_up() -> list[list[int]]:
    """The same patients every time: *people* are made up from a fixed seed; noise and keys never are."""
    chance = random.Random(1796)  # noqa: S311 - invents patients, protects nobody
    return [
        [min(120, int(chance.expovariate(1 / usual))) for _ in range(chance.randint(150, PATIENTS))]
        for usual in range(20, 20 + 3 * len(TOWNS), 3)
    ]


def _certified_means(average: Average) -> object:
    assert average.certificate is not None
    return average.certificate.means
