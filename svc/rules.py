"""The rule sets there are. A verdict names the set that made it; a replay under another set is another file."""

from svc_http.ports import UnknownRules

RULES_VERSION = 1
"""The set that serves unless another one is asked for."""

RULE_SETS: frozenset[int] = frozenset({RULES_VERSION})
"""Every set that this program can apply."""


def checked(rules_version: int | None) -> int:
    """The rule set asked for, or the serving one. Raises `UnknownRules`."""
    wanted = RULES_VERSION if rules_version is None else rules_version
    if wanted not in RULE_SETS:
        known = ", ".join(map(str, sorted(RULE_SETS)))
        raise UnknownRules(f"there is no rule set {wanted}; this version of svc has {known}")
    return wanted
