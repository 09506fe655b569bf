"""A source cut into the words of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from toolcall_operator.core.policy.cel.errors import Fault

RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
KEYWORDS = frozenset({"true", "false", "null", "in"})


class Token(NamedTuple):
    """A word: its kind (name, int, uint, double, text, or the operator itself; end), its text, and where it stands."""

    kind: str
    text: str
    at: int


# Each alternative begins with a character that decides, and no part of one can match in two ways: the time is linear.
_WORD = re.compile(
    r"""
    (?P<blank> [\t\n\f\r ]+ | //[^\n]* )
  | (?P<text> [bB]?[rR](?: \"{3}[\s\S]*?\"{3} | '{3}[\s\S]*?'{3} | "[^"\n\r]*" | '[^'\n\r]*' )
      | [bB]?(?: \"{3}(?:\\[\s\S]|[^\\])*?\"{3} | '{3}(?:\\[\s\S]|[^\\])*?'{3}
             | "(?:\\[^\n\r]|[^"\\\n\r])*" | '(?:\\[^\n\r]|[^'\\\n\r])*' ) )
  | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
  | (?P<double> [0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+ | \.[0-9]+(?:[eE][+-]?[0-9]+)? )
  | (?P<uint> (?: 0x[0-9a-fA-F]+ | [0-9]+ )[uU] )
  | (?P<int> 0x[0-9a-fA-F]+ | [0-9]+ )
  | (?P<operator> && | \|\| | == | != | <= | >= | [-+*/%!?:.,()\[\]{}<>] )
    """,
    re.VERBOSE,
)


def words(source: str) -> Iterator[Token]:
    """The words of a source, an `end` last.

    Raises:
        Fault: a character that no word of the language begins with, or a string without its end.
    """
    at = 0
    while at < len(source):
        found = _WORD.match(source, at)
        if found is None:
            raise Fault(at, _stranger(source[at]))
        kind = found.lastgroup or ""
        if kind != "blank":
            yield Token(_kind(kind, found.group()), found.group(), at)
        at = found.end()
    yield Token("end", "", at)


def _kind(kind: str, text: str) -> str:
    return text if kind == "operator" or text in KEYWORDS else kind


def _stranger(char: str) -> str:
    if char in "'\"":
        return "a string without its end"
    if char in "=&|":
        return f"{char} alone is no operator; there are ==, && and ||"
    return f"the character {char!a} means nothing here"
