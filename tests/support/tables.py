"""Tables of examples, whose rows are called by a sentence."""

from collections.abc import Mapping
from typing import Any

import pytest


def table(names: str | tuple[str, ...], rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Run a test with each row; its values are a tuple where there is more than one name."""
    return pytest.mark.parametrize(names, list(rows.values()), ids=list(rows))
