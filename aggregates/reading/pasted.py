"""A prompt's own words, apart from what was pasted (blocks, dumps, traces, logs, diffs, tables), and how they open.

Line by line and linear; of a long text only the head and the tail are looked at.
"""

import re
from bisect import bisect_right
from itertools import accumulate, compress

import msgspec

from aggregates.event import Span
from aggregates.reading.readings import HEAD_CHARS, OPENINGS, TAIL_CHARS

_FENCES = ("```", "~~~", '"""')
_LINE_OF_MACHINE = re.compile(
    r"""\s*(?:
      \d{4}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d | \[\d\d[/:-]\d\d | \d\d:\d\d:\d\d\b | \(\d{4}-\d\d-\d\dT
    | ---\s(?:FAIL|PASS|SKIP|a/) | ===\s(?:RUN|NAME|PAUSE|CONT|Step) | (?:FAIL|PASS|ok|panic:)\s*(?:$|\t|\S+[./])
    | \+\+\+\s
    | @@\s | diff\s--git | index\s[0-9a-f]{7} | (?:new\sfile|deleted|modified):\s
    | goroutine\s\d | Traceback\s | File\s" | at\s[\w.$<>]+\s?\( | Caused\sby: | \w+\.go:\d+ | [\w./-]+:\d+:\d+:
    | [\w.]*(?:Error|Exception):\s | (?:error|warning|fatal|ERROR|WARN|INFO|DEBUG|FATAL)(?::|\[|\s\w+=|\s[A-Z][\w ]+=)
    | [\u2500-\u257f\u276f\u23fa\u23bf\u279c\u2502] | [$%#]\s[a-z]+\s | \|.*\|.*\| | [+-](?:\t|\s{4,}|[\w}{]+\s*[({=])
    | (?:[{}\[\]()];?,?)\s*$ | "[\w.-]+"\s*:\s | [\w.$\[\]]+\s*(?::?=|=>)\s\S.*[;,{(]?$ | </?\w[^>]*>\s*$ | //\s | \#!/
    | (?:func|def|class|import|package|const|var|return|export|public|private)\s.*[({;:\w"]$ | (?:if|for|while)\s.*[{:]$
    | (?:create|delete)\smode\s\d | \d+\s\+\s | \d\d+\s-\s | \d\s-\s\W | (?:drwx|-rw)
    )""",
    re.VERBOSE,
)

_JUDGED = (
    *("rubric", "judge", "grade", "grading", "boolean", "evaluator", "instructions"),
    *("_explicit", "_bounded", "_requested"),
)
_TO_THE_JUDGE = re.compile(
    r"""
    \b(?:rubric|judges?|grad(?:e|er|ing)|evaluator|(?:previous|prior|above)\sinstructions|booleans?|goal_explicit|scope_bounded|references_concrete
      |context_sufficient|verification_requested|root_cause_oriented|plan_first)\b[^.!?\n]{0,300}[.!?]?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE_CHARS = 200
"""So much of a sentence before the judge is named belongs to it."""
_ORDERS = (
    (
        re.compile(r"\b(?:ignore|mark|set|give|treat|rate|grade|score|award|count|are|is)\b", re.IGNORECASE),
        re.compile(r"\b(?:true|earned|passed|full|perfect|highest|maximum|100|a\+)", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:ignore|disregard|forget)\b", re.IGNORECASE),
        re.compile(r"\b(?:rubric|instructions)\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:rubric|grader|evaluator|booleans)\b", re.IGNORECASE),
        re.compile(r"\b(?:says|must|all|every|explicit|bounded)\b", re.IGNORECASE),
    ),
    (re.compile(r"_explicit|_bounded|_concrete|_sufficient|_requested|_oriented|plan_first"), re.compile(r"\btrue\b")),
    (re.compile(r"\b(?:complete|pass(?:es)?|fits)\b", re.IGNORECASE), re.compile(r"\brubric\b", re.IGNORECASE)),
)
"""A verb, and what may follow it: the first of each is looked for, so that a sentence is read once."""


class PromptText(msgspec.Struct, frozen=True):
    """The part of a text that was looked at, and its own lines without what was pasted."""

    text: str
    """Head and tail of the original."""
    own: str
    starts: tuple[tuple[int, int], ...]
    """(offset in `own`, offset in the original) of each own line, ascending."""
    pasted_chars: int
    """Characters of the original in pasted lines; the part that was not looked at counts."""
    fenced: bool

    def span(self, start: int, end: int) -> Span:
        """The span in the original text of [start, end) of `own`; kept within the line that holds `start`."""
        line = max(bisect_right(self.starts, (start, 1 << 62)) - 1, 0)
        own_start, original = self.starts[line]
        line_end = self.own.find("\n", start)
        stop = end if line_end < 0 else min(end, line_end)
        return Span(original + start - own_start, original + max(stop, start) - own_start)


def split_pasted(text: str) -> PromptText:
    gap = max(len(text) - HEAD_CHARS - TAIL_CHARS, 0)
    head = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:] if gap else text
    own, starts, pasted = _own_lines(head, gap)
    return PromptText(head, _without_orders("\n".join(own)), tuple(starts), pasted + gap, bool(pasted))


def pasted_lines(text: str) -> str:
    """What was pasted into the head of a text, line by line."""
    head = text[:HEAD_CHARS]
    own = {at for _, at in _own_lines(head, 0)[1]}
    lines = head.split("\n")
    starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    return "\n".join(line for at, line in zip(starts, lines, strict=True) if at not in own)


def _without_orders(own: str) -> str:
    """The own lines with blanks for every sentence that tells the judge what to say of them: it has no say."""
    lowered = own.lower()
    if not any(map(lowered.__contains__, _JUDGED)):
        return own
    pieces: list[str] = []
    done = 0
    for named in _TO_THE_JUDGE.finditer(own):
        low = max(done, named.start() - _BEFORE_CHARS)
        before = own[low : named.start()]
        begun = low + 1 + max(before.rfind(mark) for mark in ".!?\n")
        said = own[begun : named.end()]
        pieces += (own[done:begun], " " * len(said) if _orders(said) else said)
        done = named.end()
    return "".join((*pieces, own[done:]))


def _orders(said: str) -> bool:
    return any(
        (told := verb.search(said)) is not None and what.search(said, told.end()) is not None for verb, what in _ORDERS
    )


def _own_lines(text: str, gap: int) -> tuple[list[str], list[tuple[int, int]], int]:
    own: list[str] = []
    starts: list[tuple[int, int]] = []
    fence = ""
    at = own_at = pasted = 0
    is_machine = _LINE_OF_MACHINE.match
    for line in text.split("\n"):
        stripped = line.lstrip()
        mark = stripped[:3]
        if fence:
            pasted += len(line)
            if mark == fence or (fence == '"""' and fence in line):
                fence = ""
        elif mark in _FENCES:
            pasted += len(line)
            fence = mark if stripped.count(mark) == 1 or mark == "~~~" else ""
        elif stripped and (mark == "\t\t\t" or is_machine(line)):
            pasted += len(line)
        else:
            starts.append((own_at, at if not gap or at <= HEAD_CHARS else at + gap - 1))
            own.append(line)
            own_at += len(line) + 1
        at += len(line) + 1
    return own, starts, pasted


# How a prompt opens, which the boundary judge asks for. Only the head of a person's own words is looked at.

_LOOKED_CHARS = 400
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
    r"|\b(?:next|(?:other|different) (?:thing|topic|question)) ?:",
    re.ASCII,
)

_GOES_BACK = re.compile(
    r"\b(?:(?:go|going|get|getting)? ?back to|ignore (?:this|that)|the (?:findings|changes|ones?) (?:before|above|from)"
    r"|(?:as|like) (?:i|we) said|again|still|same)\b",
    re.ASCII,
)
_BACK_WORDS = ("back", "ignore", "findings", "change", "one", "said", "again", "still", "same")
_LEADS = r"(?:let'?s |now |also |then |please |can you |yes,? |ok,? |and )*"
_PICKS = re.compile(
    rf"\W*(?:{_LEADS}"
    r"(?:add?ress|fix|do|handle|implement|apply|start with|start w/|take|go with|update|knock out|tell me about"
    r"|finish|complete|look at)\W+"
    r"(?:(?:top|number|items?|option|step|point|phase|issue|improvements?|these|both|the first|the second)\W+)*\d+\b"
    rf"|\d+\b|{_LEADS}add?ress\b|let'?s (?:do|look at|start with) th(?:is|ese)\b)",
    re.ASCII,
)
_GOES_ON_AFTER_YES = re.compile(rf"\W*{_ACCEPTS}\W+", re.ASCII)
_NOW = re.compile(r"\W*(?:(?:ok|okay|alright|great|perfect|good|and|so)\W+)?(?:now|next)\b", re.ASCII)
_ASKS_FIRST = re.compile(
    rf"{_FIRST}(?:i(?:'d| would) like|i want|i need|we need|we want|we should|let'?s|lets|please|can you|could you"
    r"|can we|could we|add|create|implement|write|make|build|change|update|remove|refactor|take a look|look at|review"
    r"|investigate|your task|when|while|given|in |for |if |there|the |i(?:'ve| have| just)|my )",
    re.ASCII,
)
_LINKS_BACK = re.compile(
    r"\W*(?:and|but|also|so|then|yes|yeah|yep|yup|no|nope|hmm+|ah|oh|still|why|right|wait|sorry|that|this|it|these|those"
    r"|they|i meant|i mean|actually|maybe|uhh?|well|continue|keep going|carry on|what about|how about"
    r"|should we|do we|is it|is that|is this|does it"
    r"|does that|did you|are you|are we|wouldn'?t|isn'?t|shouldn'?t|didn'?t|go|proceed|do it|let'?s do|let'?s go"
    r"|let'?s try|same|instead|again|looks|perfect|great|good|nice|cool|thanks?|k|mm+k?|ok|okay|alright)\b",
    re.ASCII,
)
_POINTS = re.compile(r"\b(?:it|this|that|these|those|they|them|there)\b", re.ASCII)
_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|you|your|my|me)\b", re.ASCII)
_FAILURE = re.compile(r"--- FAIL|=== (?:RUN|NAME)|Traceback|panic:")
_FAILED_COUNT = re.compile(
    r"\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing|failures?|errors?)\b(?!\s*=)|^FAILED \S", re.ASCII | re.MULTILINE
)
_RUN_END_CHARS = 600
"""What a run came to stands at its end."""
_ADDS = re.compile(r"\b(?:too|as well|instead|either|then|now|again|there|here)\W*$")
_COMMENT = re.compile(
    r"\b(?:reviewers?|review(?:er'?s)? comments?|pr comment|got this (?:comment|feedback|review)"
    r"|(?:this|got|some) feedback|copilot|bugbot|coderabbit|the bot)\b",
    re.ASCII,
)
_COMMENT_WORDS = ("review", "comment", "feedback", "copilot", "bugbot", "coderabbit", "bot")
_REMARKS = re.compile(
    r"\b(?:consider|should|instead of|could|would|may|might|can (?:lead|cause|panic|fail|result)|means|causes?"
    r"|leads? to|risks?|potential\w*|unused|unnecessar\w+|inconsisten\w+|duplicat\w+|lacks?|missing|omits?|never"
    r"|silently|incorrect\w*|inaccurate|outdated|misleading|brittle|ensure|without|prevents?)\b",
    re.ASCII,
)
_SHIPS = re.compile(
    r"(?!\W*(?:(?:ok|okay|so|and|but|then)\W+)*"
    r"(?:how|what|why|when|where|which|who|did|does|do (?:i|we)|is|are|was|were|has|have|should|shall|if|don'?t"
    r"|do not)\b)"
    r"\W*(?:/?\w+\W+){0,6}?(?<!\bthe )(?<!\ban )(?<!\ba )(?<!last )(?<!latest )(?<!previous )(?<!n't )(?<!not )/?"
    r"(?:commit(?!s\b)|push|deploy|release|stage"
    r"|merge(?! (?:conflict|(?:in )?(?:the )?(?:latest |origin[/ ])?(?:main|master|dev|develop|upstream)\b))"
    r"|(?:create|open|make|update) (?:a |an |the )?(?:draft )?(?:pr|pull request))\b",
    re.ASCII,
)
"""No question how to, no noun, and not what brings others' work in: a rebase, or a merge of main."""
_COMMITS = re.compile(
    r"\A\W*(?:(?:please|now|ok|then)\W+)*/?commit\b|\b(?:create|make|write|give me|add)\b[^.?!\n]{0,30}\bcommit\b",
    re.ASCII,
)
_STEP = re.compile(r"\b(?:phase|step|stage|task|story|part|milestone|item|test|#) ?\d", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_YOUR_WORK = re.compile(
    r"\b(?:you (?:just |have )?(?:did|made|added|said|wrote|created|changed|removed|mentioned|suggested|proposed)"
    r"|your (?:plan|suggestion|proposal|answer|changes?|recommendations?))\b",
    re.ASCII,
)
_WANTS = re.compile(
    r"\b(?:i want|i'd like|i would like|we need|i need|can you|could you|can we|let'?s|would like you"
    r"|i'?m (?:getting|seeing|having)|there(?:'?s| is| are| seem)|i (?:noticed|see|found|get|hit)|seems? (?:to|like)"
    r"|when i|whenever|currently)\b",
    re.ASCII,
)
_WANTS_AT_ONCE = re.compile(
    r"\W*(?:(?:ok|okay|please|great|now|thanks)\W+)*(?:add|create|implement|build|write|make|change|update|fix|remove"
    r"|rename|refactor|investigate|review|check|debug|run|generate|set up|setup|move|design|plan|improve|find"
    r"|look|analy[sz]e)\b",
    re.ASCII,
)
_LEANS = re.compile(
    r"\b(?:its?|it's|this|that|these|those|them|they|same|again|still|instead|ones?|both|here|there|above|you)\b",
    re.ASCII,
)
_LEANS_AT_ONCE = re.compile(
    r"\W*(?:(?:ok|okay)\W+)?(?:and|also|but|or|so|then|plus|wait|no|yes|hm+|actually|still|just|why|what|how about"
    r"|instead|same|oh|i see|sorry)\b",
    re.ASCII,
)
_SETS_UP = re.compile(
    r"\s*(?:<command-name>|<command-message>)?/?(?:add-dir|agents|clear|compact|config|context|cost|doctor|drop|exit|fast|help"
    r"|hooks|ide|login|logout|mcp|memory|model|output-style|permissions|plugin|quit|rename|resume|rewind|status|statusline"
    r"|theme|usage|vim)\b(?!-)"
)
"""Commands of agents that are no work."""
_TAKES_OVER = re.compile(
    r"\b(?:i(?:'ll| will|'ve| have)? (?:just )?(?:did|do|done|fix(?:ed)?|changed?|reverted|deleted?|removed?|handled?) "
    r"(?:it|this|that|them) (?:myself|manually|by hand)|(?:fixed|changed|did|reverted|do) (?:it|this|that) manually"
    r"|never ?mind|forget (?:it|about it|that)|gave up|give up|i stopped you|let'?s not)\b",
    re.ASCII,
)
_TAKING_WORDS = ("myself", "manually", "hand", "mind", "forget", "up", "stopped", "not")
_TEMPLATE = re.compile(
    r"#+ (?:context|instructions|task|your task)\W*\n|unknown (?:skill|command)\b|this session is being continued"
)
_SHIP_WORDS_MAX = 15
_SEVERITY = re.compile(r"^(?:low|medium|high|critical) severity", re.MULTILINE)
_OTHER_LETTERS = re.compile(r"[^\W\x00-\x7f]")


def prompt_opening(text: str, own: str, words: int) -> set[str]:
    """The ways in which a prompt opens; `own` is what the person wrote of `text`, `words` how many."""
    said = own.strip()
    head = _ascii_letters(said[:_LOOKED_CHARS].lower())
    near = head[:_NEAR_CHARS]
    first_words = head.split(None, 6)[:6]
    yes = _GOES_ON_AFTER_YES.match(head)
    nobody = words > _OWN_WORDS_MIN and not _PERSON.search(head)
    found = (
        _NEW_TASK.search(near),
        _holds(near, _BACK_WORDS) and _GOES_BACK.search(" ".join(near.split(None, 14)[:14])),
        _PICKS.match(head),
        words > _LONG_WORDS_MIN and yes is not None and not _LINKS_BACK.match(head, yes.end()),
        _NOW.match(head),
        words > _ASK_WORDS_MIN and _ASKS_FIRST.match(head),
        _LINKS_BACK.match(head),
        _POINTS.search(" ".join(first_words[:5])),
        nobody,
        "severity" in head and _SEVERITY.search(head),
        len(text) > len(own)
        and (_FAILURE.search(text[:_LOOKED_CHARS]) or _FAILED_COUNT.search(text[-_RUN_END_CHARS:])),
        words <= _ADDS_WORDS_MAX and _ADDS.search(said[-_END_CHARS:].lower()),
        words > _LONG_WORDS_MIN and _holds(near, _COMMENT_WORDS) and _COMMENT.search(near),
        nobody and len(_REMARKS.findall(head)) > 1,
        (0 < words < _SHIP_WORDS_MAX and _SHIPS.match(head)) or ("commit" in head and _COMMITS.search(head)),
        _DIGIT.search(head) and _STEP.search(head),
        "you" in head and _YOUR_WORK.search(head),
        _WANTS_AT_ONCE.match(head) or _WANTS.search(head),
        _LEANS.search(" ".join(first_words)) or _LEANS_AT_ONCE.match(head),
        _SETS_UP.match(text),
        _holds(head, _TAKING_WORDS) and _TAKES_OVER.search(head),
        _TEMPLATE.match(head),
    )
    return set(compress(OPENINGS, found))


def _ascii_letters(text: str) -> str:
    """Other letters become underscores: patterns that know only ASCII take half the time, and find the same."""
    return text if text.isascii() else _OTHER_LETTERS.sub("_", text)


def _holds(text: str, words: tuple[str, ...]) -> bool:
    """Whether any of these stands in a text. It costs a tenth of a search for what always holds one of them."""
    return any(map(text.__contains__, words))
