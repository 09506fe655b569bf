"""Why a toolkit or a toolspec cannot be used: the reasons of its condition Valid, and what is told people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from toolcall_operator.api.parsing import Problem

MOST_CHARACTERS = 1_024
"""As long as the message of a condition may be."""


class PolicyReason(StrEnum):
    """Why a toolkit or a toolspec is valid, or is not."""

    RESOLVED = "Resolved"
    TOOLKIT_MISSING = "ToolkitMissing"
    SPEC_LOAD_FAILED = "SpecLoadFailed"
    CEL_COMPILE_ERROR = "CELCompileError"
    UNKNOWN_SUBCOMMAND = "UnknownSubcommand"
    NAME_TAKEN = "NameTaken"


@dataclass(frozen=True, slots=True)
class Objection:
    """What speaks against a toolkit or a toolspec; the message names the fields, and is at most 1,024 characters.

    `problems` are the same one by one, all of them.
    """

    reason: PolicyReason
    message: str
    problems: tuple[Problem, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, reason: PolicyReason, problems: Iterable[Problem | str]) -> Objection:
        """The objection that tells of all these problems, or of as many as there is room for and how many more."""
        every = tuple(problems)
        located = tuple(each if isinstance(each, Problem) else Problem("", each) for each in every)
        return cls(reason, _joined([str(problem) for problem in every]), located)


def _joined(texts: list[str]) -> str:
    whole = "; ".join(texts)
    if len(whole) <= MOST_CHARACTERS:
        return whole
    told = 0
    used = len(_more(len(texts)))
    while told < len(texts) and used + len(texts[told]) + 2 <= MOST_CHARACTERS:
        used += len(texts[told]) + 2
        told += 1
    if not told:
        return texts[0][: MOST_CHARACTERS - 1] + "…"
    return "; ".join(texts[:told]) + _more(len(texts) - told)


def _more(count: int) -> str:
    return f"; and {count} more"
