"""kill -9 under load: of the server, and again during the start."""

import random
import time

from tests.faults.house import House, Trial

FOLDER_ROUNDS = 20
"""Rounds on one folder; then all of it is proven, which takes some seconds, and the next folder begins."""
LOAD_CAPTURES = (1, 200)  # how many more are acknowledged before the blow falls, and some milliseconds later it does
LATER_SECONDS = (0.0, 0.05)
START_SECONDS = (0.0, 2.5)  # when a blow falls that is meant for a server that starts


def kill_rounds(trial: Trial) -> None:
    for first in range(0, trial.times, FOLDER_ROUNDS):
        some = range(first, min(first + FOLDER_ROUNDS, trial.times))
        trial._replace(done=lambda: None).once(
            f"kills-{first}",
            lambda house, chance, some=some: _rounds(trial, house, some, chance),  # type: ignore[misc]
        )


def _rounds(trial: Trial, house: House, some: range, chance: random.Random) -> None:
    server = house.serve()
    for number in some:
        name = chance.choices(BLOWS, weights=(14, 4, 2))[0]
        house.load.resume(server)
        house.load.wait_for(chance.randint(*LOAD_CAPTURES))
        time.sleep(chance.uniform(*LATER_SECONDS))
        server.kill()
        for _ in range(BLOWS.index(name)):
            starting = house.program.begin(house.var)
            time.sleep(chance.uniform(*START_SECONDS))
            starting.end()
        server = house.serve()
        house.load.pause()
        house.look(f"round {number}, {name}")
        house.outcome.tried += 1
        house.outcome.count(name)
        trial.done()
    house.outcome.count("sends broken off", house.load.statuses["broken off"])
    house.settle(server, f"after round {some[-1]}")


BLOWS = ("the server", "again while starting", "twice while starting")
"""By how many further starts are killed, too: those do not get to where they answer, or just so."""
