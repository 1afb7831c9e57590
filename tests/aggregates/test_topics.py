"""Topics are names in every log that exists: they may be added, never changed or taken away."""

from pathlib import Path

from aggregates.decide import TOPICS
from aggregates.event import Event

GOLDEN = Path(__file__).parent.parent / "topics.txt"


def _subclasses(cls: type[Event]) -> set[type[Event]]:
    return {cls}.union(*map(_subclasses, cls.__subclasses__()))


def test_topics_are_those_of_the_golden_list() -> None:
    """A topic that vanishes here would orphan events; a new one is added to the list on purpose."""
    assert sorted(TOPICS) == GOLDEN.read_text(encoding="utf-8").split()


def test_every_event_class_has_a_topic_of_its_own() -> None:
    """No event class is missing from the table, and none stands under another's name."""
    classes = {cls for cls in _subclasses(Event) if "TOPIC" in vars(cls) and cls.__module__.startswith("aggregates.")}
    assert {cls.TOPIC: cls for cls in classes} == TOPICS
    assert len(classes) == len(TOPICS)
