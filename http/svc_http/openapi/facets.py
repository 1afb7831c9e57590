"""What types do not say of their fields: which texts are times, ids, or words of a closed list."""

from collections.abc import Callable
from typing import Any, get_args
from zoneinfo import available_timezones

from aggregates.judging.outcome import TriviaReason
from aggregates.people.commands import LANGUAGE, NAME_CHARACTERS_MAX
from aggregates.reading.verdicts import INTENTS, JudgeStatus
from aggregates.scores.grades import RUBRIC_LADDER
from svc_http.params import YEARS, Schema

TIMEZONE: Schema = {
    "title": "Timezone",
    "description": "The name of an IANA time zone; those that this machine knows.",
    "type": "string",
    "enum": sorted(available_timezones()),
}
_TIME: Schema = {"format": "date-time"}
_ID: Schema = {"format": "uuid"}
_INTENT: Schema = {"enum": [*INTENTS, "unclassified"]}
_LETTER: Schema = {"enum": [*RUBRIC_LADDER, "N/A"]}

_ANSWERED: dict[str, Schema] = {
    "letter_grade": _LETTER,
    "grade": {"enum": list(RUBRIC_LADDER)},
    "intent_class": _INTENT,
    "intentClass": _INTENT,
    "judge_status": {"enum": list(get_args(JudgeStatus))},
    "title_source": {"enum": ["heuristic", "rubric", "user_edited"]},
    "trivia_reason": {"enum": list(get_args(TriviaReason))},
    "period_start": _TIME,
    "timestamp": _TIME,
    "sub_session_id": _ID,
    "score_v3_sub_session_id": _ID,
    "subSessionId": _ID,
    "promptId": _ID,
    "rework_of": _ID,
    "organization_id": _ID,
    "developer_id": _ID,
    "developerId": _ID,
    "team_id": _ID,
    "membership_id": _ID,
    "team_membership_id": _ID,
    "key_id": _ID,
}
"""Field of an answer → what is true of it wherever it stands."""

_SENT_TIMES = ("submitted_at", "responded_at", "expires_at", "published_at", "from", "to")
_SENT_TIME: Schema = {"pattern": YEARS, "anyOf": [{"format": "date-time"}, {"format": "date"}]}
_NOT_BLANK: Schema = {"pattern": r"^[^\u0000]*\S[^\u0000]*$"}
_NO_NUL: Schema = {"pattern": r"^[^\u0000]*$"}
_CONTROL = r"\u0000-\u001f\u007f-\u009f"
_NAME: Schema = {"pattern": rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"}
_NAMED: Schema = {"minLength": 1, "maxLength": NAME_CHARACTERS_MAX, **_NAME}
_JSON_REF: Schema = {"$ref": "#/components/schemas/Json"}
_JSON_FIELDS: Schema = {"propertyNames": _NO_NUL, "additionalProperties": _JSON_REF}
JSON: Schema = {
    "title": "Json",
    "description": "Any JSON value without NUL in its texts.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", **_NO_NUL},
        {"type": "array", "items": _JSON_REF},
        {"type": "object", **_JSON_FIELDS},
    ],
}
_SENT_ANYWHERE: dict[str, Schema] = {
    "display_name": _NAMED,
    "timezone": {"$ref": "#/components/schemas/Timezone"},
    "language": {"pattern": LANGUAGE.pattern.join(("^(", ")$"))},
}

_SENT: dict[tuple[str, str], Schema] = {
    ("OrganizationBody", "name"): _NAMED,
    ("OrganizationChange", "name"): _NAMED,
    ("TeamBody", "name"): _NAMED,
    ("KeyBody", "name"): _NAMED,
    ("GenerateBody", "date"): {"format": "date", "pattern": YEARS},
    ("GenerateBody", "language"): _NO_NUL,
    ("PromptBody", "prompt_text"): _NOT_BLANK,
    ("PromptBody", "metadata"): {"type": ["object", "null"], **_JSON_FIELDS},
    ("EditBody", "title"): _NOT_BLANK,
    ("OverrideBody", "field"): {"enum": ["boundary", "completion", "rollback", "label"]},
    ("OverrideBody", "payload"): _JSON_FIELDS,
}
"""(Body, field) → what the route checks beyond the type."""

_LIST_RATE: dict[str, Schema] = {"effective_from": _SENT_TIME, "effective_to": _SENT_TIME}
"""Field of a catalog, sent and answered alike → what is checked before it is published."""


def dressed(components: dict[str, Any]) -> dict[str, Any]:
    """Every schema, with what is known of its fields by their names. Bodies are those whose name says so."""
    return {name: _schema(name, schema) for name, schema in components.items()}


def _schema(name: str, schema: Schema) -> Schema:
    facets = _of_body if name.endswith(("Body", "Change", "Document")) else _of_answer
    fields = {field: _field(facets, name, field, each) for field, each in schema.get("properties", {}).items()}
    return schema | ({"properties": fields} if fields else {})


def _of_answer(name: str, field: str) -> Schema:
    if field.endswith(("_at", "At")):
        return _TIME
    return _LIST_RATE.get(field, {}) if name == "ListRate" else _ANSWERED.get(field, {})


def _of_body(name: str, field: str) -> Schema:
    if field in _SENT_TIMES:
        return _SENT_TIME
    return _SENT.get((name, field)) or _SENT_ANYWHERE.get(field, _NO_NUL)


def _field(facets: Callable[[str, str], Schema], name: str, field: str, schema: Schema) -> Schema:
    """The facets belong to the text, wherever in the alternatives it stands."""
    found = facets(name, field)
    if not schema or schema.get("type") == "object":
        return schema | {key: value for key, value in found.items() if key != "pattern"}
    if schema.get("type") == "string" and "enum" not in schema:
        return found | schema if "pattern" in schema or "format" in schema else schema | found
    if "anyOf" in schema:
        return schema | {"anyOf": [_field(facets, name, field, each) if each else each for each in schema["anyOf"]]}
    return schema
