"""How numbers, times and names read on a page. What is not known is a dash, never a 0."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from ipaddress import ip_address
from pkgutil import get_data
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from aggregates.judging.prompt import HABIT_WORDS
from aggregates.reading.verdicts import kind_of
from aggregates.times import US_PER_SECOND
from svc_http.records import day_of

if TYPE_CHECKING:
    from aggregates.scores.grades import Interval

UNKNOWN = "–"
LANGUAGES = {"en": "English", "ko": "한국어"}  # of reports
AGENTS = ("claude-code", "codex", "gemini", "copilot", "opencode")  # that svc connects

SAID: dict[str, dict[str, Any]] = msgspec.toml.decode(get_data(__name__, "words.toml") or b"")
KINDS: Mapping[str, str] = SAID["kinds"]
STATES: Mapping[str, str] = SAID["states"]
HABITS: Mapping[str, str] = {name: words.earned for name, words in HABIT_WORDS.items()}
NEXT_HABIT: Mapping[str, str] = {name: words.next for name, words in HABIT_WORDS.items()}
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_THOUSAND, _MILLION, _BILLION = 10**3, 10**6, 10**9
_CENT = 0.01


def number(value: float | None) -> str:
    """A count, whole, with thousands set apart."""
    return UNKNOWN if value is None else f"{value:,.0f}".replace(",", "\u202f")


def tokens(value: float | None) -> str:
    """As in 940, 12.4 k, 3.1 M."""
    if value is None:
        return UNKNOWN
    for size, name in ((_BILLION, "G"), (_MILLION, "M"), (10 * _THOUSAND, "k")):
        if value >= size:
            return f"{value / (_THOUSAND if name == 'k' else size):.1f}\u202f{name}"
    return number(value)


def usd(value: float | None) -> str:
    """US dollars; two figures of what is less than a cent."""
    if value is None:
        return UNKNOWN
    if value and abs(value) < _CENT:
        return f"${value:.2g}" if abs(value) >= 0.0001 else "under $0.0001"
    return f"${value:,.2f}".replace(",", "\u202f")


def bounded(cost: float | None, more: int, less: int) -> str:
    """As in "$1.20", "at least" or "at most $1.20". `more` and `less`: how many requests may have cost so."""
    inexact = "about " if more and less else "at least " if more else "at most " if less else ""
    return UNKNOWN if cost is None else f"{inexact}{usd(cost)}"


def cost_told(of: Any) -> str:
    """Of sums as `GET /v1/score_v3/cost` answers them; a dash where nothing has a price."""
    names = ("known_cost_usd", "priced_requests", "unpriced_requests", "lower_bound_requests", "upper_bound_requests")
    known, priced, unpriced, more, less = (of[each] if isinstance(of, Mapping) else getattr(of, each) for each in names)
    return bounded(known if priced or not unpriced else None, (unpriced or 0) + (more or 0), less or 0)


def kind_shown(told: str | None) -> str:
    """The class or its group, as it is told; a dash where nobody can tell."""
    return kind_of(told).removeprefix("a ").removeprefix("an ") if told else UNKNOWN


def percent(value: float | None) -> str:
    """Of 0 to 100."""
    return UNKNOWN if value is None else f"{value:.0f}"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{round(whole / _MINUTE)} min"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
    return f"{whole / _DAY:.1f} days"


def local(at: int | str, zone: tzinfo) -> datetime:
    """Of microseconds, or of a time as the API tells it."""
    if isinstance(at, str):
        return datetime.fromisoformat(at).astimezone(zone)
    return datetime.fromtimestamp(at / US_PER_SECOND, UTC).astimezone(zone)


def day(at: int | str | None, zone: tzinfo, this_year: int | None = None) -> str:
    """As in 14 February 2026; this, `short_day` and `moment` leave out the year where it is this year."""
    return UNKNOWN if at is None else day_of(local(at, zone), this_year)


def date(text: str | None, this_year: int | None = None) -> str:
    """A bare date, as in 14 February 2026."""
    return UNKNOWN if text is None else day(f"{text}T00:00:00+00:00", UTC, this_year)


def short_day(at: int | str, zone: tzinfo, this_year: int | None = None) -> str:
    """As in 14 Feb 2026."""
    return day_of(local(at, zone), this_year, "%b")


def moment(at: int | str | None, zone: tzinfo, this_year: int | None = None) -> str:
    """As in Sat 14 Feb 2026, 09:05."""
    return UNKNOWN if at is None else f"{local(at, zone):%a} {short_day(at, zone, this_year)}, {clock(at, zone)}"


def clock(at: int | str, zone: tzinfo) -> str:
    return f"{local(at, zone):%H:%M}"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """As in `1 goal`, `2 goals`."""
    return f"{number(count)} {thing if count == 1 else things or thing + 's'}"


def rate_told(reached: int, decided: int, undecided: int, interval: "Interval | None") -> str:
    """As in "8 of 11 goals reached; 18 undecided: the rate may be 30–100 %."."""
    from aggregates.scores.grades import DECIDED_MIN  # late: a terminal loads no judge before it is asked

    if interval is None:
        return "No goal counts yet in this time."
    said = f"{number(reached)} of {counted(decided, 'decided goal')} reached" if decided else "No goal is decided"
    open_ones = f"{number(undecided)} undecided: " if undecided else ""
    too_few = " (too few goals to tell more)" if 0 < decided < DECIDED_MIN else ""
    return f"{said}; {open_ones}the rate may be {spread(interval)} %{too_few}."


def outcomes_told(counts: Any) -> str:
    """As in "8 reached, 1 undecided, 3 not counted": of all goals that began."""
    of = counts if isinstance(counts, Mapping) else msgspec.structs.asdict(counts)
    return ", ".join(f"{number(of[name])} {state}" for name, state in STATES.items() if of[name])


def rounding(parts: Iterable[float | None], whole: float | None) -> str:
    """Why the parts of a sum of money do not add up as they are shown; empty where they do."""
    added = usd(sum(round(each, 2) if each >= _CENT else float(f"{each:.2g}") for each in parts if each))
    is_off = whole is not None and added != usd(whole)
    return "Each sum is rounded by itself, so as shown they do not add up to the cent." if is_off else ""


def spread(interval: "Interval | None") -> str:
    """As in 30–100; of a value that is sure, that."""
    low, high = (UNKNOWN, UNKNOWN) if interval is None else (f"{interval.low:.0f}", f"{interval.high:.0f}")
    return low if low == high else f"{low}–{high}"


def here_only(url: str) -> bool:
    """Whether an address leads to the machine that it is opened on, and so to this server from no other one."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def titled(title: str, summary: str | None, source: str) -> str:
    """A title, with an ellipsis where its sentence goes on, as the summary shows; never behind one that was given."""
    after = (summary or "").partition(title)[2]
    is_cut = source != "user_edited" and after.strip() and not title.endswith((".", "?", "!"))
    return title.rstrip(" ,;:") + "…" if is_cut else title


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_HABIT = re.compile(r"\b(?:" + "|".join(HABITS) + r")\b")


def plainly(text: str, zone: tzinfo) -> str:
    """A sentence of the API with its times and names as a person reads them."""
    timed = _TIME.sub(lambda found: moment(found[0], zone), text)
    return re.sub(r"(?<=\d)%", "\u00a0%", _HABIT.sub(lambda found: f"“{HABITS[found[0]]}”", timed))


def reason_of(what: str, habit: str) -> str:
    """Why a habit was shown or missed; empty where that is only its name again, and the words quoted say it."""
    return "" if what == HABITS.get(habit) else what


DATED = (day, short_day, moment)
_PLAIN = (number, tokens, usd, percent, duration, date, clock, counted)
_OF_TEXTS = (cost_told, kind_shown, outcomes_told, rounding, plainly, reason_of, titled, here_only)
FILTERS: Mapping[str, Callable[..., Any]] = {
    **{each.__name__: each for each in (*_PLAIN, *_OF_TEXTS)},
    "state": lambda name: STATES.get(name, name),
    "habit": lambda name: HABITS.get(name, name),
    "next_habit": lambda name: NEXT_HABIT.get(name, name),
    "zip": zip,
}
