"""Why a prompt earned or missed each boolean, in its own words: made when somebody asks, from the text itself.

Verdicts are made for every prompt, evidence is looked at for few; so it is no part of a verdict.
"""

from aggregates.evidence import evidence_spans
from aggregates.features import extract
from aggregates.pasted import look
from aggregates.reading import title_and_summary
from aggregates.verdicts import BOOLEANS, BooleanName, Evidence, Rubric, applicable

_MISSED: dict[BooleanName, str] = {
    "goal_explicit": "no outcome by which a reader could tell that it is reached",
    "scope_bounded": "no file, function or surface named, and nothing left out",
    "references_concrete": "nothing findable: no path, symbol, line, ticket or command",
    "context_sufficient": "the agent would have to ask back or guess",
    "verification_requested": "no test, expected output or check named",
    "root_cause_oriented": "the cause is not asked for",
    "plan_first": "no plan, steps or exploration before the change",
}
_EARNED: dict[BooleanName, str] = {
    "goal_explicit": "says what should hold afterwards",
    "scope_bounded": "says where, or what to leave alone",
    "references_concrete": "points at something findable",
    "context_sufficient": "enough to start without asking back",
    "verification_requested": "asks for a check",
    "root_cause_oriented": "asks for the cause",
    "plan_first": "asks for, gives or follows a plan",
}


def rubric_evidence(text: str, rubric: Rubric, position: int) -> dict[BooleanName, Evidence]:
    """For each boolean that applies, what speaks for it, or what was missed. Empty unless the rubric is ok.

    `position` is that of the fact whose words are `text`; a span points into `text`, at the prompt's summary where no
    words stand out.
    """
    if rubric.intent is None:
        return {}
    looked = look(text)
    shown = extract(looked)
    spans = evidence_spans(looked, shown.phrases, shown.reference)
    _, summary = title_and_summary(looked)
    return {
        name: Evidence(_EARNED[name], position, spans[BOOLEANS.index(name)] or summary)
        if name in rubric.earned
        else Evidence(_MISSED[name])
        for name in applicable(rubric.intent)
    }
