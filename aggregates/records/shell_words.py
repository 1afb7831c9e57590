"""Cutting a shell line into its simple commands, without running or expanding anything.

One pass over the characters. A command substitution becomes a simple command of its own, since it runs too. Text that
no shell would accept is cut as far as it goes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "nul", "$null"})
_SEPARATORS = frozenset(";|&\n()`")


@dataclass(slots=True)
class SimpleCommand:
    """One program with its arguments, quotes taken off."""

    words: list[str] = field(default_factory=list)
    writes_file: bool = False


def simple_commands(text: str) -> list[SimpleCommand]:
    """The simple commands of a shell text; a substituted one stands before the command it feeds."""
    scanner = _Scanner("\n".join(_code_lines(text.split("\n"))) if "<<" in text else text)
    scanner.run()
    return scanner.commands


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
    """A command being read, and what surrounds it."""

    command: SimpleCommand = field(default_factory=SimpleCommand)
    word: list[str] | None = None
    quoted: bool = False
    redirecting: bool = False  # the next word is the target of an output redirection
    backquoted: bool = False


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stack = [_Open()]
        self.commands: list[SimpleCommand] = []

    def run(self) -> None:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        while self._stack:
            self._end_command()
            self._stack.pop()

    def _step(self, char: str) -> None:
        quoted = self._stack[-1].quoted
        if char == "\\":
            escaped = self._text[self._at + 1 : self._at + 2]
            self._add(escaped if quoted else escaped.replace("\n", ""))
            self._at += 2
        elif char == '"':
            self._add("")
            self._stack[-1].quoted = not quoted
            self._at += 1
        elif self._text.startswith("$(", self._at):
            self._substitution()
        elif char == "`":
            self._backquote()
        elif quoted:
            self._add(char)
            self._at += 1
        else:
            self._plain(char)

    def _plain(self, char: str) -> None:
        if char == "'":
            self._single_quoted()
        elif self._text.startswith(("<(", ">("), self._at):
            self._substitution()
        elif char in "<>" or self._text.startswith("&>", self._at):
            self._redirection()
        elif char in _SEPARATORS:
            self._separator(char)
        elif char in " \t\r":
            self._end_word()
            self._at += 1
        elif char == "#" and self._stack[-1].word is None:
            self._skip_to("\n")
        else:
            self._add(char)
            self._at += 1

    def _single_quoted(self) -> None:
        end = self._text.find("'", self._at + 1)
        end = len(self._text) if end < 0 else end
        self._add(self._text[self._at + 1 : end])
        self._at = end + 1

    def _substitution(self) -> None:
        if self._text.startswith("$((", self._at):
            self._skip_to("))")
            self._at += 2
            self._add("0")
            return
        self._add("$")
        self._stack.append(_Open())
        self._at += 2

    def _backquote(self) -> None:
        self._at += 1
        if self._stack[-1].backquoted:
            self._end_command()
            self._stack.pop()
        else:
            self._add("$")
            self._stack.append(_Open(backquoted=True))

    def _separator(self, char: str) -> None:
        self._end_command()
        self._at += 1
        if char == ")" and len(self._stack) > 1 and not self._stack[-1].backquoted:
            self._stack.pop()
        elif char == "(":
            self._stack.append(_Open())

    def _redirection(self) -> None:
        """`>`, `>>`, `&>`, `2>` write into the next word; `>&1` copies a descriptor; `<` only reads."""
        top = self._stack[-1]
        if top.word is not None and "".join(top.word).isdigit():
            top.word = None
        self._end_word()
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in "<>&|":
            self._at += 1
        operator = self._text[start : self._at]
        if operator.startswith("<") and not operator.startswith("<>"):
            return
        follows = self._text[self._at : self._at + 1]
        if operator.endswith("&") and (follows.isdigit() or follows == "-"):
            self._at += 1  # `>&2` and `>&-` copy or close; `>&file` writes
        else:
            top.redirecting = True

    def _skip_to(self, mark: str) -> None:
        end = self._text.find(mark, self._at)
        self._at = len(self._text) if end < 0 else end

    def _add(self, text: str) -> None:
        top = self._stack[-1]
        if top.word is None:
            top.word = []
        top.word.append(text)

    def _end_word(self) -> None:
        top = self._stack[-1]
        if top.word is None:
            return
        word, top.word = "".join(top.word), None
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
