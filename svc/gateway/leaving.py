"""What may leave: data whose texts hold no secret, and no sentence that speaks to whoever judges them.

Texts were redacted when they were captured, unless an organization switched that off; here it cannot be switched off.
Taking out sentences that address the judge is the first of three defences; the second is that data travels as strings
of one JSON document, the third that an answer has to prove itself (`verdicts.py`).
"""

import re

from aggregates.redaction import redact

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

_ADDRESSED = re.compile(
    r"\b(ignor\w*|disregard\w*|forget|overrid\w*|bypass)\b[^.!?\n]{0,60}"
    r"\b(rubric|instructions?|rules?|prompts?|schema|above|previous|criteria)\b"
    r"|\b(mark|set|rate|score|grade|judge|label|answer|return|output|give)\b[^.!?\n]{0,40}"
    r"\b(all|everything|every\w*|each)\b[^.,;!?\n]{0,25}\b(true|complete\w*|earned|pass\w*|a\+|100)\b"
    r"|\b(you are|act as|as) (the|a|an)\b[^.!?\n]{0,20}\b(judge|grader|evaluator)\b"
    r"|\bsystem (prompt|message)\b|<\|[^|\n]{1,40}\|>|\b(goal_complete|new_topic)\b"
    r"|(루브릭|지시|지침|규칙|프롬프트)[^.!?\n]{0,20}무시|모두[^.!?\n]{0,20}(참|true|완료)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]*")


def leaving(value: Json) -> Json:
    """The same document, its texts cleaned."""
    match value:
        case str():
            return without_addresses(redact(value).text)
        case list():
            return [leaving(each) for each in value]
        case dict():
            return {name: leaving(each) for name, each in value.items()}
        case _:
            return value


def without_addresses(text: str) -> str:
    """The text without the sentences that tell a judge what to say."""
    if _ADDRESSED.search(text) is None:
        return text
    return "".join(found for found in _SENTENCE.findall(text) if not _ADDRESSED.search(found)).rstrip()
