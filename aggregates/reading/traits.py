"""Traits of a prompt: what its sentences do, taken together, as named features.

A trait joins what single words cannot say: that nothing but a question is asked, that a fix is asked for and the thing
is a test, that a long text only describes what is wrong.
"""

from collections.abc import Mapping, Sequence

from aggregates.reading.lexicon import FINDINGS, OBJECTS, VERBS
from aggregates.reading.sentences import RawSentence, Sentence, analyse, things

_SAID = ("request", "question", "report", "statement")
_HOWS = (*("plain", "you", "we", "i", "want", "lets"), *("please", "should", "suggest", "sure", "forbid", "unwanted"))
_ASKED = ("wh", "how", "why", "yesno", "tag", "other")
_KINDS = tuple(VERBS)

# What a request is about, per verb, in the order in which the first that holds is named.
_ABOUT: dict[str, tuple[str, ...]] = {
    "look": ("review", "defect", "tests"),
    "fix": ("tests", "text", "review", "structure"),
    "add": ("tests", "text", "feature", "git", "plan"),
    "change": ("text", "structure", "tests"),
    "remove": ("text", "structure", "tests"),
    "write": ("tests", "plan", "text"),
    "do": ("tests", "plan", "review"),
}
_PROSE_WORDS_MIN = 18
_REMARKS = ("suggest", "should")

TRAITS: tuple[str, ...] = (
    *("bare", "bare paste", "plan handed over"),
    *(f"plan title:{kind}" for kind in (*_KINDS, "tests")),
    *("only strong report", "only weak report", "only statement", "only question", "has report", "has strong report"),
    *(f"question:{how}" for how in _ASKED),
    *(f"only question:{how}" for how in _ASKED),
    *(f"how:{how}" for how in _HOWS),
    *(f"last how:{how}" for how in _HOWS),
    *(f"does:{kind}" for kind in (*_KINDS, "none")),
    *(f"does:{kind} {about}" for kind, abouts in _ABOUT.items() for about in abouts),
    *(f"first does:{kind}" for kind in (*_KINDS, "none")),
    *(f"last does:{kind}" for kind in (*_KINDS, "none")),
    *(f"begins:{said}" for said in _SAID),
    *(f"ends:{said}" for said in _SAID),
    "prose",
    *(f"prose:{about}" for about in FINDINGS),
    *(f"prose twice:{about}" for about in FINDINGS),
)
_PLAN_OPENINGS = frozenset({"plan", "plans", "spec", "design"})


def traits(
    sentences: Sequence[RawSentence],
    plain: Sequence[str],
    heading: Sequence[str],
    findings: Mapping[str, int],
    *,
    pasted: bool,
) -> set[str]:
    """The traits that hold. `plain`: the words of all sentences; `findings`: how many of them are in each list."""
    if len(plain) <= 2:
        return {"bare paste" if pasted else "bare"}
    if heading and not _PLAN_OPENINGS.isdisjoint(plain[:8]):
        return _handed_plan(heading)
    said = [sentence for raw in sentences if (sentence := analyse(raw)) is not None]
    if not said:
        return {"bare"}
    requests = [each for each in said if each.kind == "request"]
    questions = [each.how for each in said if each.kind == "question"]
    reports = [each.how for each in said if each.kind == "report"]
    found = {f"begins:{said[0].kind}", f"ends:{said[-1].kind}"}
    found.update(_requested(requests) if requests else _unrequested(questions, reports))
    found.update([f"question:{how}" for how in questions])
    if reports:
        found.add("has report")
    if "strong" in reports:
        found.add("has strong report")
    if len(plain) >= _PROSE_WORDS_MIN and not questions and all(each.how in _REMARKS for each in requests):
        found.update(_prose(findings))
    return found


def _handed_plan(heading: Sequence[str]) -> set[str]:
    from_title = {f"plan title:{kind}" for kind, words in VERBS.items() if not words.isdisjoint(heading)}
    if not OBJECTS["tests"].isdisjoint(heading):
        from_title.add("plan title:tests")
    return from_title | {"plan handed over"}


def _requested(requests: Sequence[Sentence]) -> set[str]:
    first, last = requests[0], requests[-1]
    found = {f"first does:{first.verb or 'none'}", f"last does:{last.verb or 'none'}", f"last how:{last.how}"}
    found.update([f"how:{how}" for how in {each.how for each in requests}])
    found.update([_done(each) for each in requests if each.how not in ("forbid", "unwanted")])
    return found


def _done(request: Sentence) -> str:
    verb = request.verb or "none"
    abouts = _ABOUT.get(verb)
    if abouts is not None:
        named = things(request)
        for about in abouts:
            if about in named:
                return f"does:{verb} {about}"
    return f"does:{verb}"


def _unrequested(questions: Sequence[str], reports: Sequence[str]) -> set[str]:
    """Nothing is asked to be done: questions, reports or statements alone."""
    if questions:
        return {"only question", f"only question:{questions[-1]}"}
    if not reports:
        return {"only statement"}
    return {"only strong report" if "strong" in reports else "only weak report"}


def _prose(findings: Mapping[str, int]) -> set[str]:
    found = {"prose"}
    found.update([f"prose:{about}" for about, count in findings.items() if count])
    found.update([f"prose twice:{about}" for about, count in findings.items() if count >= 2])
    return found
