"""Who judges the calls of a session: its toolspecs, each as it is, or why it cannot judge, or not yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.deciding.candidates import Candidate, Invalid, Pending
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.policy.loading.reasons import Objection

Shown = Callable[[SpiceboxToolspec], bool]
"""Whether the status of a toolspec says by now that it can judge calls."""


def of(
    names: Iterable[str], toolspecs: Mapping[str, SpiceboxToolspec], library: Library, is_shown: Shown
) -> tuple[Candidate, ...]:
    """The toolspecs of these names that exist, in their order; `toolspecs` are those that can be read.

    One that is not shown to be valid yet is pending: people can see by what calls are judged.
    """
    found = (_candidate(name, toolspecs.get(name), library, is_shown) for name in names)
    return tuple(candidate for candidate in found if candidate is not None)


def _candidate(name: str, toolspec: SpiceboxToolspec | None, library: Library, is_shown: Shown) -> Candidate | None:
    judged = library.toolspec(name)
    if isinstance(judged, Objection):
        return Invalid(name, judged.reason, judged.message, library.tool(name))
    if judged is None or toolspec is None:
        return None
    return judged if is_shown(toolspec) else Pending(name, judged.tool)
