"""Topics are names in every log that exists: they may be added, never changed or taken away."""

from pathlib import Path

from aggregates import events
from aggregates.events import TOPICS, Event

GOLDEN = Path(__file__).parent.parent / "topics.txt"


def test_topics_are_those_of_the_golden_list() -> None:
    """A topic that vanishes here would orphan events; a new one is added to the list on purpose."""
    assert sorted(TOPICS) == GOLDEN.read_text(encoding="utf-8").split()


def test_every_event_class_has_a_topic_of_its_own() -> None:
    """No class of the events module is missing from the table, and none stands under another's name."""
    classes = {
        value
        for value in vars(events).values()
        if isinstance(value, type) and issubclass(value, Event) and "TOPIC" in vars(value)
    }
    assert {cls.TOPIC: cls for cls in classes} == TOPICS
    assert len(classes) == len(TOPICS)
