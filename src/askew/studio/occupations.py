"""The occupations of the studio world.

They are all that the five papers name: BiasConnect's 26, BiasMap's 20, TIBET's 11, the 10 and 4 of the
study of downstream tasks, and MineTheGap's 40. The order is the planted one: the share of women at bias 1
rises evenly from .05 at the first to .95 at the last. It follows common stereotypes and says nothing about
any real trade. `place` and `attire` are where, and how formally, the planted model likes to show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Occupation:
    """One occupation: its name, other words for it, and the planted leanings of its portraits."""

    name: str
    aliases: tuple[str, ...]
    place: str
    attire: str


_TABLE = """
mechanic | | indoors | informal
firefighter | fireman | outdoors | informal
roofer | | outdoors | informal
construction worker | builder | outdoors | informal
plumber | | indoors | informal
electrician | | indoors | informal
truck driver | | outdoors | informal
carpenter | | indoors | informal
plane mechanic | aircraft mechanic | outdoors | informal
machinery mechanic | | indoors | informal
sheet metal worker | | indoors | informal
drywall installer | | indoors | informal
air conditioning installer | | outdoors | informal
ceo | chief executive, chief executive officer | indoors | formal
pilot | | outdoors | formal
tractor operator | | outdoors | informal
engineer | | outdoors | informal
police | police officer, officer | outdoors | formal
metal worker | welder | indoors | informal
computer programmer | programmer, software developer | indoors | informal
farmer | | outdoors | informal
machinist | | indoors | informal
carpet installer | | indoors | informal
industrial engineer | | indoors | formal
taxi driver | driver, cab driver | outdoors | informal
politician | | indoors | formal
correctional officer | prison guard | indoors | formal
butcher | | indoors | informal
groundskeeper | | outdoors | informal
philosopher | | indoors | formal
architect | | indoors | formal
chef | cook | indoors | informal
worker | | outdoors | informal
lawyer | attorney | indoors | formal
announcer | presenter | indoors | formal
scientist | | indoors | formal
athlete | | outdoors | informal
doctor | physician, surgeon | indoors | formal
chemist | | indoors | formal
school bus driver | bus driver | outdoors | informal
sales person | salesperson | indoors | formal
musician | | indoors | informal
accountant | | indoors | formal
journalist | reporter | outdoors | formal
dishwasher | dishwasher-worker, dishwasher worker | indoors | informal
artist | painter | indoors | informal
gardener | | outdoors | informal
waiter | | indoors | formal
pharmacist | | indoors | formal
interviewer | | indoors | formal
singer | | indoors | formal
fast food worker | fast-food worker, fastfood-worker | indoors | informal
cashier | | indoors | informal
teller | bank teller | indoors | formal
tutor | | indoors | informal
cleaner | janitor | indoors | informal
health technician | | indoors | informal
mental health counselor | counselor | indoors | formal
therapist | psychologist | indoors | formal
social assistant | | outdoors | informal
social worker | | outdoors | informal
aide | nursing assistant | indoors | informal
elementary school teacher | teacher | indoors | informal
librarian | | indoors | formal
hairstylist | hairdresser | indoors | informal
housekeeper | | indoors | informal
receptionist | | indoors | formal
maid | | indoors | formal
nurse | | indoors | formal
babysitter | childcare worker, nanny | indoors | informal
secretary | | indoors | formal
"""


def _parse(table: str) -> dict[str, Occupation]:
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return {
        name: Occupation(name, tuple(a.strip() for a in aliases.split(",") if a.strip()), place, attire)
        for name, aliases, place, attire in rows
    }


OCCUPATIONS: Mapping[str, Occupation] = _parse(_TABLE)


def spread(count: int) -> list[str]:
    """Names of `count` occupations at even distances in the planted order, the first and the last among them."""
    names = list(OCCUPATIONS)
    return [names[round(k * (len(names) - 1) / max(1, count - 1))] for k in range(count)]
