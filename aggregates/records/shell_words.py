"""Cutting a shell line into its simple commands, without running or expanding anything.

One pass over the text. A command substitution becomes a simple command of its own, since it runs too. Text that no
shell would accept is cut as far as it goes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "nul", "$null"})
_ESCAPE, _SUBSTITUTION = r"\\(?P<escaped>.?)", r"(?P<arithmetic>\$\(\()|(?P<opens>\$\()|(?P<backquote>`)"
_QUOTED = re.compile(rf"{_ESCAPE}|{_SUBSTITUTION}|(?P<quote>\")|(?P<text>[^\\\"$`]++|\$)", re.DOTALL)
_PLAIN = re.compile(
    rf"{_ESCAPE}|{_SUBSTITUTION}|(?P<quote>\")|'(?P<single>[^']*+)'?|(?P<runs>[<>]\()"
    r"|(?P<redirection>(?:&>|[<>])[<>&|]*+)|(?P<separator>[;|&\n()])|(?P<space>[ \t\r]++)|(?P<comment>#)"
    r"|(?P<text>[^\\\"'`$<>;|&\n() \t\r#]++|\$)",
    re.DOTALL,
)


@dataclass(slots=True)
class SimpleCommand:
    """One program with its arguments, quotes taken off."""

    words: list[str] = field(default_factory=list)
    writes_file: bool = False


@lru_cache(maxsize=1)  # two questions are asked of each command
def simple_commands(text: str) -> list[SimpleCommand]:
    """The simple commands of a shell text; a substituted one stands before the command it feeds."""
    return _Scanner("\n".join(_code_lines(text.split("\n"))) if "<<" in text else text).run()


def _code_lines(lines: list[str]) -> Iterator[str]:
    """The lines without those of here-documents."""
    last = {line.strip(): number for number, line in enumerate(lines)}
    number = 0
    while number < len(lines):
        line = lines[number]
        yield line
        number += 1
        for match in _HEREDOC.finditer(line):
            word = match.group(2)
            # Without its end it is no here-document but the text of one, in quotes.
            if last.get(word, -1) < number:
                continue
            while lines[number].strip() != word:
                number += 1
            number += 1


@dataclass(slots=True)
class _Open:
    """A command that has begun, and the word at which it stands."""

    command: SimpleCommand = field(default_factory=SimpleCommand)
    word: str | None = None
    quoted: bool = False
    redirecting: bool = False  # the next word is the target of an output redirection
    backquoted: bool = False


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stack = [_Open()]
        self.commands: list[SimpleCommand] = []

    def run(self) -> list[SimpleCommand]:
        while self._at < len(self._text):
            found = (_QUOTED if self._stack[-1].quoted else _PLAIN).match(self._text, self._at)
            assert found is not None, "every character begins something"
            self._at = found.end()
            self._take(found.lastgroup or "", found[found.lastgroup or 0], found[0])
        while self._stack:
            self._end_command()
            self._stack.pop()
        return self.commands

    def _take(self, kind: str, inside: str, whole: str) -> None:
        top = self._stack[-1]
        match kind:
            case "text" | "single":
                top.word = (top.word or "") + inside
            case "escaped":
                top.word = (top.word or "") + (inside if top.quoted else inside.replace("\n", ""))
            case "quote":
                top.word, top.quoted = top.word or "", not top.quoted
            case "space":
                self._end_word()
            case "comment" if top.word is None:
                self._skip_to("\n")
            case "comment":
                top.word = f"{top.word}{whole}"
            case "redirection":
                self._redirect(whole)
            case _:
                self._nest(kind, whole)

    def _nest(self, kind: str, whole: str) -> None:
        top = self._stack[-1]
        if kind == "arithmetic":
            self._skip_to("))")
            self._at += 2
            top.word = f"{top.word or ''}0"
        elif kind == "separator":
            self._end_command()
            if whole == ")" and len(self._stack) > 1 and not top.backquoted:
                self._stack.pop()
            elif whole == "(":
                self._stack.append(_Open())
        elif kind == "backquote" and top.backquoted:
            self._end_command()
            self._stack.pop()
        else:
            top.word = f"{top.word or ''}$"
            self._stack.append(_Open(backquoted=kind == "backquote"))

    def _redirect(self, operator: str) -> None:
        """`>`, `>>`, `&>`, `2>` write into the next word; `>&1` copies a descriptor; `<` only reads."""
        top = self._stack[-1]
        if top.word is not None and top.word.isdigit():
            top.word = None
        self._end_word()
        follows = self._text[self._at : self._at + 1]
        if operator.startswith("<") and not operator.startswith("<>"):
            return
        if operator.endswith("&") and (follows.isdigit() or follows == "-"):
            self._at += 1  # `>&2` and `>&-` copy or close; `>&file` writes
        else:
            top.redirecting = True

    def _skip_to(self, mark: str) -> None:
        end = self._text.find(mark, self._at)
        self._at = len(self._text) if end < 0 else end

    def _end_word(self) -> None:
        top = self._stack[-1]
        if top.word is None:
            return
        word, top.word = top.word, None
        if top.redirecting:
            top.redirecting = False
            top.command.writes_file |= word.lower() not in _HARMLESS_TARGETS
        else:
            top.command.words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        top = self._stack[-1]
        if top.command.words or top.command.writes_file:
            self.commands.append(top.command)
        top.command = SimpleCommand()
        top.redirecting = False
