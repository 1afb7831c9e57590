"""What is kept of a text that was read: numbers and keyed digests, without its words.

A file of its own, beside those that read: their words, patterns and weights take as long to load as a web framework,
and are loaded with the first text.
"""

import msgspec

from aggregates.event import Span, unpacked

HEAD_CHARS = 24_576
TAIL_CHARS = 8_192  # of a longer text only so much is looked at, at both ends
TOKENS_MAX = 512
TOPIC_MAX = 48
SHORT_WEIGHT = 10
OPENINGS: tuple[str, ...] = (
    *("names a new task", "goes back", "picks from a list", "goes on after a yes", "begins with now"),
    *("asks like a first prompt", "links back at once", "points back at once", "speaks of nobody"),
    *("rates a severity", "pastes a failure", "adds to what is there", "passes on a comment"),
    *("remarks like a reviewer", "asks to commit or merge", "names a step", "speaks of the agent's work"),
    *("wants or reports something", "leans on what was said", "sets up the session", "takes it over"),
    "opens with a template",
)
CROSSED = (
    *("phrase:goal_given", "phrase:check_asked", "phrase:cause_asked", "phrase:symptom_only", "phrase:scope_limit"),
    *("reference", "references 2", "begins:request", "ends:request", "only question", "has report", "prose", "bare"),
    *("pasted", "words over 10", "words over 25", "words over 70"),
)
NAMED: tuple[str, ...] = (
    *CROSSED,
    *("phrase:accepting", "phrase:correcting", "phrase:failing", "phrase:undoing"),
    *("words over 6", "words over 16", "no own words", "bare paste", "cue:review", "word:review"),
    *("phrase:shifting", "phrase:continuing", "phrase:review_asked", "phrase:look_asked", "phrase:answered"),
    *("begins:question", "begins:statement", "open first:conditional", "plan handed over"),
    *("word:still", "word:now", "word:also", "cue:where", "cue:vague", "path", "reference first", "words over 40"),
    *OPENINGS,
    *("says nothing", "word list", "number", "only strong report", "only weak report", "url", "symbol", "code name"),
    *("cue:test", "cue:check", "cue:accept", "cue:cause", "cue:plan", "cue:git", "cue:scope", "cue:symptom"),
    *("phrase:plan_given", "phrase:plan_asked", "mention", "flagged", "asks ?", "cue:want", "image alone"),
    *("phrase:check_wanted", "references 8", "question:wh", "question:how", "question:why"),
    *("goes ahead", "says that it works", "words over 3", "only names success"),
)
"""Features and openings that rules ask for by name. A reading keeps their places here, and sealed readings stand in
logs: new ones go to the end."""
NUMBER: dict[str, int] = {name: place for place, name in enumerate(NAMED)}


class PromptReading(msgspec.Struct, frozen=True, array_like=True):
    weight: int  # characters, a CJK character counting as three; pasted text left out
    navigational: str | None
    """Why this prompt only navigates: `short`, `command`, `shell`, `acknowledgement`; None for a real prompt."""
    clears: bool
    token_digests: bytes
    """Keyed digests of the distinct lower-cased word tokens, sorted, `packed`; at most `TOKENS_MAX`."""
    title: Span
    summary: Span
    characters: int = 0  # of the person's own words, pasted ones too
    pasted_characters: int = 0  # of pasted lines; the middle of a text over 32 KiB counts as pasted
    shown: tuple[int, ...] = ()  # the features and openings of `NAMED` that it shows, by their places
    logits: tuple[int, ...] = ()
    """What a rubric model weighs of its features (`RubricModel.logits`). Which known words it holds is kept nowhere
    else: a reading outlives its text, and must not spell it."""
    topic_digests: bytes = b""
    """Keyed digests of the words that are not everyday words, sorted, `packed`; at most `TOPIC_MAX`."""
    foreign: bool = False  # in a language that the lexicons do not know, or a picture alone: the rubric judge abstains
    maker: str | None = None
    """What an agent put in a person's place here (`authors.maker_of`); None for a person's own prompt."""
    start: int = 0  # where the person's own words begin in the text

    def shows(self, *names: str) -> bool:
        return any(map(self.shown.__contains__, map(NUMBER.__getitem__, names)))

    @property
    def tokens(self) -> tuple[int, ...]:
        return unpacked(self.token_digests)

    @property
    def topic(self) -> tuple[int, ...]:
        return unpacked(self.topic_digests)

    @property
    def accepts(self) -> bool:
        """Thanks, praise or a bare acknowledgement, without a complaint."""
        if self.corrects or self.reports_failure:
            return False
        return self.navigational == "acknowledgement" or self.approves

    @property
    def approves(self) -> bool:
        """Thanks, praise, or that it works."""
        return self.shows("says that it works") or (
            self.shows("phrase:accepting") and not self.shows("only names success")
        )

    @property
    def corrects(self) -> bool:
        """Says that the work or the answer before is not what was wanted."""
        return self.shows("phrase:correcting")

    @property
    def reports_failure(self) -> bool:
        return self.shows("phrase:failing")

    @property
    def asks_to_revert(self) -> bool:
        return self.shows("phrase:undoing")


class ResponseReading(msgspec.Struct, frozen=True, array_like=True):
    topic_digests: bytes = b""
    """Keyed digests of the words at its end that are not everyday words, sorted, `packed`; at most `TOPIC_MAX`."""
    characters: int = 0
    asks: bool = False  # ends by asking or offering: the next prompt may answer it
    reports_done: bool = False  # says that the work is done or that checks pass
    reports_failure: bool = False  # says that something still fails, or that it could not be done
    closes: bool = False  # says that the work is complete, ready, committed or merged
    invites: bool = False  # ends with a general offer of more help, or asks what is next
    breaks_off: bool = False  # ends by saying what comes next, as an answer does that was cut off

    @property
    def topic(self) -> tuple[int, ...]:
        return unpacked(self.topic_digests)
