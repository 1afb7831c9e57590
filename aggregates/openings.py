"""How a prompt opens: what its first words say of whether it starts something of its own or goes on.

Each way is one bit of a reading, for the boundary judge. Only the head of a person's own words is looked at.
"""

import re

HEAD_CHARS = 400
_NEAR_CHARS = 220
_OWN_WORDS_MIN = 18
_LONG_WORDS_MIN = 12
_ASK_WORDS_MIN = 8
_ADDS_WORDS_MAX = 25
_END_CHARS = 24

_ACCEPTS = r"(?:ok|okay|alright|great|perfect|nice|cool|good|awesome|excellent|k|m+k|thanks|thank you|works)\b"
_FIRST = r"\W*(?:(?:ok|okay|alright|great|perfect|good|now|so|also|next)\W+)*"

_NEW_TASK = re.compile(
    r"\b(?:unrelated|new (?:change|task|topic|feature request)"
    r"|(?:next|2nd|second|third|another|one more|different|separate) (?:problem|issue|bug|task|topic|subject)"
    r"|something (?:odd|weird|strange|else|different)|let'?s (?:now )?(?:talk about|move on|switch|return to)|as for"
    r"|(?:with|in|given) (?:all )?(?:this|that) (?:context|knowledge|in mind)|start(?:ing)? (?:from scratch|over)"
    r"|there'?s an? (?:issue|problem|bug)|moving on|on (?:to )?another|now (?:to|for) the"
    r"|while (?:we'?re|you'?re|i'?m) (?:at it|there|here)|we(?:'?re| are) missing|also want to"
    r"|i(?:'d|'ve)? also (?!meant|mean|got|get|see|saw|tried|tested|think)|next (?:thing|step|up|one)|on another note"
    r"|by the way|btw|separately|change of (?:topic|plan)|in the same spirit)\b"
    r"|\b(?:next|(?:other|different) (?:thing|topic|question)) ?:"
)
_GOES_BACK = re.compile(
    r"\b(?:(?:go|going|get|getting)? ?back to|ignore (?:this|that)|the (?:findings|changes|ones?) (?:before|above|from)"
    r"|(?:as|like) (?:i|we) said|again|still|same)\b"
)
_LEADS = r"(?:let'?s |now |also |then |please |can you |yes,? |ok,? |and )*"
_PICKS = re.compile(
    rf"\W*(?:{_LEADS}"
    r"(?:add?ress|fix|do|handle|implement|apply|start with|start w/|take|go with|update|knock out|tell me about"
    r"|finish|complete|look at)\W+"
    r"(?:(?:#|top|number|items?|option|step|point|phase|issue|improvements?|these|both|the first|the second)\W+)*\d+\b"
    rf"|\d+\b|{_LEADS}add?ress\b|let'?s (?:do|look at|start with) th(?:is|ese)\b)"
)
_GOES_ON_AFTER_YES = re.compile(rf"\W*{_ACCEPTS}\W+")
_NOW = re.compile(r"\W*(?:(?:ok|okay|alright|great|perfect|good|and|so)\W+)?(?:now|next)\b")
_ASKS_FIRST = re.compile(
    rf"{_FIRST}(?:i(?:'d| would) like|i want|i need|we need|we want|we should|let'?s|lets|please|can you|could you"
    r"|can we|could we|add|create|implement|write|make|build|change|update|remove|refactor|take a look|look at|review"
    r"|investigate|your task|when|while|given|in |for |if |there|the |i(?:'ve| have| just)|my )"
)
_LINKS_BACK = re.compile(
    r"\W*(?:and|but|also|so|then|yes|yeah|yep|yup|no|nope|hmm+|ah|oh|still|why|right|wait|sorry|that|this|it|these|those"
    r"|they|i meant|i mean|actually|maybe|uhh?|well|continue|keep going|carry on|what about|how about"
    r"|should we|do we|is it|is that|is this|does it"
    r"|does that|did you|are you|are we|wouldn'?t|isn'?t|shouldn'?t|didn'?t|go|proceed|do it|let'?s do|let'?s go"
    r"|let'?s try|same|instead|again|looks|perfect|great|good|nice|cool|thanks?|k|mm+k?|ok|okay|alright)\b"
)
_POINTS = re.compile(r"\b(?:it|this|that|these|those|they|them|there)\b")
_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|you|your|my|me)\b")
_FAILURE = re.compile(r"--- FAIL|=== (?:RUN|NAME)|Traceback|panic:")
_ADDS = re.compile(r"\b(?:too|as well|instead|either|then|now|again|there|here)\W*$")
_COMMENT = re.compile(
    r"\b(?:reviewers?|review(?:er'?s)? comments?|pr comment|got this (?:comment|feedback|review)"
    r"|(?:this|got|some) feedback|copilot|bugbot|coderabbit|the bot)\b"
)
_COMMENT_SIGNS = ("review", "comment", "feedback", "copilot", "bot", "coderabbit")
"""One of them stands in every text that `_COMMENT` finds something in: a quick look that mostly saves the slow one."""
_REMARKS = re.compile(
    r"\b(?:consider|should|instead of|could|would|may|might|can (?:lead|cause|panic|fail|result)|means|causes?"
    r"|leads? to|risks?|potential\w*|unused|unnecessar\w+|inconsisten\w+|duplicat\w+|lacks?|missing|omits?|never"
    r"|silently|incorrect\w*|inaccurate|outdated|misleading|brittle|ensure|without|prevents?)\b"
)
_SEVERITY = re.compile(r"^(?:low|medium|high|critical) severity", re.MULTILINE)

OPENINGS: tuple[str, ...] = (
    "names a new task",
    "goes back",
    "picks from a list",
    "goes on after a yes",
    "begins with now",
    "asks like a first prompt",
    "links back at once",
    "points back at once",
    "speaks of nobody",
    "rates a severity",
    "pastes a failure",
    "adds to what is there",
    "passes on a comment",
    "remarks like a reviewer",
)
"""What is looked for, each by its bit."""
OPENING: dict[str, int] = {name: 1 << place for place, name in enumerate(OPENINGS)}


def opening_flags(text: str, own: str, words: int) -> int:
    """The ways in which a prompt opens, as bits; `own` is what the person wrote of `text`, `words` how many."""
    said = own.strip()
    head = said[:HEAD_CHARS].lower()
    near = head[:_NEAR_CHARS]
    nobody = words > _OWN_WORDS_MIN and not _PERSON.search(head)
    found = (
        _NEW_TASK.search(near),
        _GOES_BACK.search(_first_words(near, 14)),
        _PICKS.match(head),
        words > _LONG_WORDS_MIN and _goes_on_after_yes(head),
        _NOW.match(head),
        words > _ASK_WORDS_MIN and _ASKS_FIRST.match(head),
        _LINKS_BACK.match(head),
        _POINTS.search(_first_words(near, 5)),
        nobody,
        "severity" in head and _SEVERITY.search(head),
        len(text) > len(own) and _FAILURE.search(text[:HEAD_CHARS]),
        words <= _ADDS_WORDS_MAX and _ADDS.search(said[-_END_CHARS:].lower()),
        words > _LONG_WORDS_MIN and any(map(near.__contains__, _COMMENT_SIGNS)) and _COMMENT.search(near),
        nobody and _remarks_twice(head),
    )
    return sum(1 << place for place, holds in enumerate(found) if holds)


def _remarks_twice(head: str) -> bool:
    first = _REMARKS.search(head)
    return first is not None and _REMARKS.search(head, first.end()) is not None


def _goes_on_after_yes(head: str) -> bool:
    """Whether it says yes to what was done, and then turns from it."""
    yes = _GOES_ON_AFTER_YES.match(head)
    return yes is not None and not _LINKS_BACK.match(head, yes.end())


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split(None, count)[:count])
