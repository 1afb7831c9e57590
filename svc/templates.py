"""JSON as data describes it: templates to be filled in, and paths by which an answer is read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_BLANK = re.compile(r"\{(\w+)\}")


def filled(template: Any, put: Mapping[str, Any]) -> Any:
    """With what is put for `{name}`; a text that is nothing but that becomes the value itself."""
    if isinstance(template, dict):
        return {name: filled(each, put) for name, each in template.items()}
    if isinstance(template, list):
        return [filled(each, put) for each in template]
    if not isinstance(template, str):
        return template
    whole = _BLANK.fullmatch(template)
    if whole is not None and whole[1] in put:
        return put[whole[1]]
    return _BLANK.sub(lambda blank: str(put.get(blank[1], blank[0])), template)


def found(documents: Sequence[Any], paths: Sequence[str]) -> list[Any]:
    """What stands there: `*` is any member; `TYPE:` before a path looks into objects of that type alone."""
    every = list[Any]()
    for path in paths:
        kind, _, steps = path.rpartition(":")
        values = [each for each in documents if isinstance(each, dict) and kind in ("", each.get("type"))]
        for step in steps.split("."):
            inside = [each.items() if isinstance(each, dict) else enumerate(each) for each in values if _holds(each)]
            values = [value for members in inside for name, value in members if step in ("*", str(name))]
        every += [each for each in values if each is not None]
    return every


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)
