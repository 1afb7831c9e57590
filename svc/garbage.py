"""How often Python's collector of garbage looks: seldom, in a process that makes much and lets go of it at once."""

import gc

from svc.limits import GC_ALLOCATIONS


def look_seldom() -> None:
    """For a process that has started: what it holds now stays for good, and need not be looked at again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS, *gc.get_threshold()[1:])
