"""kill -9 under load: of the server, and again during the start."""

import random
import time
from collections.abc import Callable

from tests.faults.household import House
from tests.faults.program import Server
from tests.faults.trial import Trial

FOLDER_ROUNDS = 20
"""Rounds on one folder; then all of it is proven, which takes some seconds, and the next folder begins."""
LOAD_CAPTURES = (1, 200)
"""How many more are acknowledged before the blow falls, and some milliseconds later it does."""
LATER_SECONDS = (0.0, 0.05)
START_SECONDS = (0.0, 2.5)
"""When a blow falls that is meant for a server that starts."""

Round = Callable[[House, Server, random.Random], Server]
"""A blow while the load goes on; the server that stands in the end."""


def kill_rounds(trial: Trial) -> None:
    """So many rounds."""
    for first in range(0, trial.times, FOLDER_ROUNDS):
        name = f"kills-{first}"
        with trial.house(name) as house:
            _rounds(trial, house, range(first, min(first + FOLDER_ROUNDS, trial.times)), trial.chance(name))


def _rounds(trial: Trial, house: House, some: range, chance: random.Random) -> None:
    server, outcome = house.serve(), trial.outcome
    for number in some:
        name, blow = chance.choices(BLOWS, weights=(14, 4, 2))[0]
        house.load.resume(server)
        house.load.wait_for(chance.randint(*LOAD_CAPTURES))
        time.sleep(chance.uniform(*LATER_SECONDS))
        server = blow(house, server, chance)
        house.load.pause()
        house.look(outcome, f"round {number}, {name}")
        outcome.tried += 1
        outcome.count(name)
        trial.done()
    house.settle(server, outcome, f"after round {some[-1]}")
    outcome.count("sends broken off", house.load.statuses["broken off"])
    outcome.check(server.stop() == 0, f"after round {some[-1]}: the server does not stop in order")


def _server(house: House, server: Server, _chance: random.Random) -> Server:
    """As after an accident."""
    server.kill()
    return house.serve()


def _while_starting(house: House, server: Server, chance: random.Random) -> Server:
    """The next one does not get to where it answers, or just so."""
    server.kill()
    starting = house.program.begin(house.var)
    time.sleep(chance.uniform(*START_SECONDS))
    starting.kill()
    return house.serve()


def _twice_while_starting(house: House, server: Server, chance: random.Random) -> Server:
    """Nor does the one after it."""
    server.kill()
    for _ in range(2):
        starting = house.program.begin(house.var)
        time.sleep(chance.uniform(*START_SECONDS))
        starting.end()
    return house.serve()


BLOWS: tuple[tuple[str, Round], ...] = (
    ("the server", _server),
    ("again while starting", _while_starting),
    ("twice while starting", _twice_while_starting),
)
