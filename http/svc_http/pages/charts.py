"""Small drawings as inline SVG; the table beside each holds the same figures."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import NamedTuple

from markupsafe import Markup

from projections.sub_sessions.turns import GoalTurns, TurnMarks
from svc_http.pages.words import clock, counted, duration, percent

WIDTH, HEIGHT = 600, 100
_TOP = 6
_BAR_SHARE = 0.62
_CAP = 8
_LABELS_MAX = 8  # so many names stand below the bars; others are left out evenly
_NARROW_MAX = 5  # and so many on a narrow screen
_HATCHED = ("undecided", "open")  # what nobody knows is no plain colour: base.html holds the pattern


class Bar(NamedTuple):
    """One bar of several parts, from the bottom up; each part has the class that gives its colour."""

    label: str
    parts: Sequence[tuple[str, float]]
    about: str
    open_ended: bool = False  # whether something is missing that nobody knows: a hatched cap, always of one height
    href: str | None = None  # where what it is made of is listed


def bars(name: str, items: Sequence[Bar], shown: Callable[[float], str]) -> Markup:
    """Stacked bars. `name`: what is drawn, for who does not see it; `shown`: how the highest is written."""
    top = max((sum(value for _, value in each.parts) for each in items), default=0)
    if not top and not any(each.open_ended for each in items):
        return Markup('<p class="empty">Nothing to draw in this time.</p>')
    step = WIDTH / len(items)
    drawn = [_bar(each, step * place, step, top or 1) for place, each in enumerate(items)]
    return _framed(name, drawn, [each.label for each in items], shown(top), any(each.href for each in items))


def _bar(bar: Bar, left: float, step: float, top: float) -> Markup:
    x, y, width = left + step * (1 - _BAR_SHARE) / 2, float(HEIGHT), step * _BAR_SHARE
    drawn = []
    for kind, value in bar.parts:
        if value > 0:
            height = (HEIGHT - _TOP) * value / top
            y -= height
            drawn.append(_rect(kind, x, y, width, height))
    if bar.open_ended:
        drawn.append(_rect("open", x, max(y - _CAP, 0), width, _CAP))
    told = Markup("<title>{}</title>").format(bar.about)
    if bar.href is None or not drawn:
        return Markup("<g>{}{}</g>").format(told, Markup("").join(drawn))
    # The whole column leads there: a bar of one goal among many is low.
    column = Markup("").join([_rect("hit", left, 0, step, HEIGHT), *drawn])
    return Markup('<a href="{}" aria-label="{}">{}{}</a>').format(bar.href, bar.about, told, column)


def share(name: str, parts: Sequence[tuple[str, float]]) -> Markup:
    """One bar that lies: each part as wide as its share of all; a faint rail where there is nothing."""
    whole, x = sum(value for _, value in parts) or 1, 0.0
    drawn = [_rect("rail", 0, 0, WIDTH, 10)]
    for kind, value in parts:
        if value > 0:
            drawn.append(_rect(kind, x, 0, WIDTH * value / whole, 10))
            x += WIDTH * value / whole
    return _svg("share", 10, name, drawn)


def habit(shown: float) -> Markup:
    """Of how many of the prompts that called for it, 0-1."""
    return share(f"about {percent(100 * shown)} %", (("reached", shown), ("missed", 1 - shown)))


def spark(name: str, percents: Sequence[float | None]) -> Markup:
    """Small bars of 0 to 100; a faint rail under all, and nothing on it where there is no value."""
    step, drawn = WIDTH / max(len(percents), 1), [_rect("rail", 0, HEIGHT - 4, WIDTH, 4)]
    for number, value in enumerate(percents):
        if value is not None:
            height = max(HEIGHT * value / 100, 4)
            drawn.append(_rect("reached", step * (number + 0.1), HEIGHT - height, step * 0.8, height))
    return _svg("spark", HEIGHT, name, drawn)


def place(name: str, group: tuple[float, float, float], mine: tuple[float, float, float] | None) -> Markup:
    """On a line from 0 to 100: the middle half of a group with its median, and one's own value with what fits."""
    low, middle, high = (WIDTH * each / 100 for each in group)
    drawn = [_rect("rail", 0, 18, WIDTH, 4), _rect("half", low, 8, max(high - low, 2), 24)]
    drawn.append(_line("middle", middle, middle, 4, 36))
    if mine is not None:
        least, value, most = (WIDTH * each / 100 for each in mine)
        drawn += [_line("fits", least, most, 20, 20), _line("dot", value, value, 20, 20)]
    axis = Markup('<div class="axis" aria-hidden="true"><span>0</span><span>50</span><span>100 %</span></div>')
    return _svg("chart place", 40, name, drawn) + axis


class Course(NamedTuple):
    """What was done in a goal, turn by turn."""

    drawn: Markup
    kinds: list[str]  # of the ticks that stand in it
    left_out: int  # of the turns


COURSE_MAX = 100
TICKS_MAX = 12  # of one turn, the last ones: they decide
TURN_SECONDS_MAX = 3_600  # a turn that took longer is drawn as one that took this
_TURN_WIDTH_MIN = 6  # so that the shortest one can be seen, and touched; what is left is shared by time
_COURSE_HEIGHT, _BARS_TOP, _GAP_SHARE, _GAP_MAX = 40, 20, 0.12, 2  # a wider gap would look like idle time
_TICKS = {"passed": (8, 17), "failed": (0, 17), "commit": (9, 9)}
_TICK_OF = {
    **dict.fromkeys(("check passed", "lesser check passed"), "passed"),
    **dict.fromkeys(("check failed", "error", "interrupted", "refused", "taken back"), "failed"),
    **dict.fromkeys(("commit", "pull request"), "commit"),
}


def course(told: GoalTurns, href: Callable[[int], str], zone: tzinfo) -> Course:
    """Each bar as wide as its turn took; a turn of this page with every mark. `href`: where the turn of a number is."""
    whole = {each.number: each for each in told.turns}
    turns = [whole.get(each.number, each) for each in told.course[:COURSE_MAX]]
    took = [min(each.duration_seconds or 1, TURN_SECONDS_MAX) for each in turns]
    least = min(_TURN_WIDTH_MIN, WIDTH / (2 * len(turns)))
    drawn, kinds, x = list[Markup](), set[str](), 0.0
    for turn, seconds in zip(turns, took, strict=True):
        width = least + (WIDTH - least * len(turns)) * seconds / sum(took)
        ticks = [mark for mark in turn.marks if mark in _TICK_OF]
        if "refused" in ticks and ticks[-1] == "interrupted":  # a refused call stops the turn, and is one tick
            ticks.pop()
        drawn.append(_turn(turn, ticks, href(turn.number), x, width, zone))
        kinds |= {_TICK_OF[tick] for tick in ticks}
        x += width
    svg = _svg("course", _COURSE_HEIGHT, f"{counted(len(turns), 'turn')} in time order", drawn, has_links=True)
    return Course(svg, [kind for kind in _TICKS if kind in kinds], told.total_turns - len(turns))


def _turn(turn: TurnMarks, ticks: Sequence[str], href: str, left: float, width: float, zone: tzinfo) -> Markup:
    about = f"Turn {turn.number}, {clock(turn.started_at, zone)}, {duration(turn.duration_seconds)}"
    marks = (f"{mark} × {times}" if times > 1 else mark for mark, times in Counter(ticks).items())
    about = ", ".join([about, *marks, *([] if turn.is_answered else ["no answer seen"])])
    gap, bar_height = min(width * _GAP_SHARE, _GAP_MAX), _COURSE_HEIGHT - _BARS_TOP
    drawn = [
        _rect("hit", left, 0, width, _COURSE_HEIGHT),
        _rect("priced", left + gap / 2, _BARS_TOP, width - gap, bar_height),
    ]
    shown = ticks[-TICKS_MAX:]
    for place, tick in enumerate(shown, 1):
        x, kind = left + width * place / (len(shown) + 1), _TICK_OF[tick]
        drawn.append(_line(kind, x, x, *_TICKS[kind]))
    link = Markup('<a href="{}" aria-label="{}"><title>{}</title>{}</a>')
    return link.format(href, about, about, Markup("").join(drawn))


def _svg(kind: str, height: int, name: str, drawn: Sequence[Markup], *, has_links: bool = False) -> Markup:
    role = "group" if has_links else "img"
    head = Markup('<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="{}" aria-label="{}">')
    return head.format(kind, WIDTH, height, role, name) + Markup("").join(drawn) + Markup("</svg>")


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    drawn = Markup('<rect class="{}"{} x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return drawn.format(kind, Markup(' fill="url(#hatch)"') if kind in _HATCHED else "", x, y, width, height)


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    drawn = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    return drawn.format(kind, x1, x2, y1, y2)


def _framed(name: str, drawn: Sequence[Markup], labels: Sequence[str], top: str, has_links: bool) -> Markup:
    """As wide as the page lets it be; the names stand below in the page's own type, whatever the width."""
    every, axis = -(-len(labels) // _LABELS_MAX) or 1, []
    is_dense = len(labels) > _NARROW_MAX * every
    for from_end, label in zip(range(len(labels) - 1, -1, -1), labels, strict=True):
        # Every so many has its name; of more than a narrow screen holds, every other gives way there.
        kind, said = "roomy" if is_dense and from_end // every % 2 else "", "" if from_end % every else label
        axis.append(Markup('<span class="{}">{}</span>').format(kind, said))
    base = _line("base", 0, WIDTH, HEIGHT, HEIGHT)
    scale = Markup('<div class="drawn"><span class="scale" aria-hidden="true">{}</span>').format(top)
    even = " even" if len(labels) <= _NARROW_MAX else ""  # each below its bar; of more the outer ones keep to the edge
    under = Markup('<div class="axis{}" aria-hidden="true">{}</div></div>').format(even, Markup("").join(axis))
    return scale + _svg("chart", HEIGHT, name, [*drawn, base], has_links=has_links) + under
