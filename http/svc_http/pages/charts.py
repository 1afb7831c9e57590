"""Small drawings as inline SVG; the table beside each holds the same figures."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from aggregates.scores.grades import Interval

WIDTH, HEIGHT = 600, 100
_TOP = 6
_BAR_SHARE = 0.62
_CAP = 8
_LABELS_MAX = 8  # so many names stand below the bars; others are left out evenly
_HATCH = Markup(
    '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="hatch" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>'
)


class Bar(NamedTuple):
    """One bar of several parts, from the bottom up; each part has the class that gives its colour."""

    label: str
    parts: Sequence[tuple[str, float]]
    about: str
    open_ended: bool = False  # whether something is missing that nobody knows: a hatched cap, always of one height


class Dot(NamedTuple):
    """A value with what fits; None where there is none."""

    label: str
    value: float | None
    fits: Interval | None
    about: str


def bars(name: str, items: Sequence[Bar], shown: Callable[[float], str]) -> Markup:
    """Stacked bars. `name`: what is drawn, for who does not see it; `shown`: how the highest is written."""
    top = max((sum(value for _, value in each.parts) for each in items), default=0) or 1
    step, drawn = _step(items), []
    for place, each in enumerate(items):
        x, y, width = step * (place + (1 - _BAR_SHARE) / 2), float(HEIGHT), step * _BAR_SHARE
        drawn.append(Markup("<g><title>{}</title>").format(each.about))
        for kind, value in each.parts:
            if value > 0:
                height = (HEIGHT - _TOP) * value / top
                y -= height
                drawn.append(_rect(kind, x, y, width, height))
        if each.open_ended:
            cap = _rect("open", x, max(y - _CAP, 0), width, _CAP)
            drawn.append(Markup('<g fill="url(#hatch)">{}</g>').format(cap))
        drawn.append(Markup("</g>"))
    if any(each.open_ended for each in items):
        drawn.insert(0, _HATCH)
    return _framed(name, drawn, [each.label for each in items], shown(top))


def dots(name: str, items: Sequence[Dot], most: float) -> Markup:
    """Values on a scale from 0, each with its interval; where there is none, nothing is drawn."""

    def at(value: float) -> float:
        return HEIGHT - (HEIGHT - _TOP) * min(value, most) / most

    step = _step(items)
    drawn = [_line("rule", 0, WIDTH, at(most), at(most)), _line("rule", 0, WIDTH, at(most / 2), at(most / 2))]
    for place, each in enumerate(items):
        if each.value is None:
            continue
        x = step * (place + 0.5)
        drawn.append(Markup("<g><title>{}</title>").format(each.about))
        if each.fits is not None:
            drawn.append(_line("fits", x, x, at(each.fits.low), at(each.fits.high)))
        # A line of no length with round ends: a dot that stays round however wide the drawing is.
        drawn.append(_line("dot", x, x, at(each.value), at(each.value)) + Markup("</g>"))
    return _framed(name, drawn, [each.label for each in items], f"{most:.0f}")


def share(name: str, parts: Sequence[tuple[str, float]]) -> Markup:
    """One bar that lies: each part as wide as its share of all; a faint rail where there is nothing."""
    whole, x = sum(value for _, value in parts) or 1, 0.0
    drawn = [_rect("rail", 0, 0, WIDTH, 10)]
    for kind, value in parts:
        if value > 0:
            drawn.append(_rect(kind, x, 0, WIDTH * value / whole, 10))
            x += WIDTH * value / whole
    head = Markup('<svg class="share" viewBox="0 0 {} 10" preserveAspectRatio="none" role="img" aria-label="{}">')
    return head.format(WIDTH, name) + Markup("").join(drawn) + Markup("</svg>")


def place(name: str, group: tuple[float, float, float], mine: tuple[float, float, float] | None) -> Markup:
    """On a line from 0 to 100: the middle half of a group with its median, and one's own value with what fits."""
    low, middle, high = (WIDTH * each / 100 for each in group)
    drawn = [_rect("rail", 0, 18, WIDTH, 4), _rect("half", low, 8, max(high - low, 2), 24)]
    drawn.append(_line("middle", middle, middle, 4, 36))
    if mine is not None:
        least, value, most = (WIDTH * each / 100 for each in mine)
        drawn += [_line("fits", least, most, 20, 20), _line("dot", value, value, 20, 20)]
    head = Markup('<svg class="chart place" viewBox="0 0 {} 40" preserveAspectRatio="none" role="img" aria-label="{}">')
    axis = Markup('<div class="axis" aria-hidden="true"><span>0</span><span>50</span><span>100 %</span></div>')
    return head.format(WIDTH, name) + Markup("").join(drawn) + Markup("</svg>") + axis


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    drawn = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return drawn.format(kind, x, y, width, height)


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    drawn = Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>')
    return drawn.format(kind, x1, x2, y1, y2)


def _step(items: Sequence[object]) -> float:
    return WIDTH / max(len(items), 1)


def _label(label: str, from_end: int, every: int) -> Markup:
    """One place of the axis: every so many has its name; every other of these gives way on a narrow screen."""
    if from_end % every:
        return Markup("<span></span>")
    return Markup('<span class="roomy">{}</span>' if from_end // every % 2 else "<span>{}</span>").format(label)


def _framed(name: str, drawn: Sequence[Markup], labels: Sequence[str], top: str) -> Markup:
    """As wide as the page lets it be; the names stand below in the page's own type, whatever the width."""
    every = -(-len(labels) // _LABELS_MAX) or 1
    head = Markup(
        '<div class="drawn"><span class="scale" aria-hidden="true">{}</span><svg class="chart" viewBox="0 0 {} {}" '
        'preserveAspectRatio="none" role="img" aria-label="{}">'
    ).format(top, WIDTH, HEIGHT, name)
    axis = Markup("").join(_label(label, len(labels) - 1 - place, every) for place, label in enumerate(labels))
    under = Markup('</svg><div class="axis" aria-hidden="true">{}</div></div>').format(axis)
    return head + Markup("").join((*drawn, _line("base", 0, WIDTH, HEIGHT, HEIGHT))) + under
