"""Checks for manifest files: whether toolkits and toolspecs can judge, and judge what classes and sessions offer."""

from __future__ import annotations

from collections.abc import Iterator

from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.loading import coverage, toolkits
from toolcall_operator.core.policy.loading.coverage import NotInClass
from toolcall_operator.core.policy.loading.reasons import Objection, PolicyReason
from toolcall_operator.local.findings import Level
from toolcall_operator.local.keys import Key
from toolcall_operator.local.lint import Check, Known, Remark
from toolcall_operator.local.policies import Policies


def toolkit_is_whole(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """Toolspecs can build on a toolkit."""
    if isinstance(parsed, SpiceboxToolkit):
        found = known.policies.library.toolkit(parsed.metadata.name)
        if isinstance(found, Objection):
            yield from _problems(found)
            if found.reason is PolicyReason.NAME_TAKEN:  # so nobody looked further
                yield from (Remark(problem.path, problem.message) for problem in toolkits.problems(parsed.spec))


def toolspec_can_judge(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A toolspec can judge calls; its toolkit may be in the cluster already."""
    if isinstance(parsed, SpiceboxToolspec):
        for objection in known.policies.library.objections(parsed.metadata.name):
            yield from _problems(objection)


def class_is_covered(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """Every tool of a class that names toolspecs has one; what is in no file may be in the cluster already."""
    if not isinstance(parsed, SpiceboxClass):
        return
    absent = [each.name for each in parsed.spec.toolspecs if known.lacks(_toolspec(each.name))]
    for name in absent:
        message = f"names a SpiceboxToolspec, {name}, that is not in these files"
        yield Remark("spec.toolspecs", message, Level.WARNING)
    if not absent and (lacking := coverage.lacking(_certain(parsed.spec, known.policies), known.policies.library)):
        yield Remark("spec.toolspecs", lacking.removeprefix("spec.toolspecs "))


def session_narrows_its_class(parsed: Parsed, known: Known) -> Iterator[Remark]:
    """A session names no toolspec that its class does not."""
    session_class = known.class_of(parsed) if isinstance(parsed, SpiceboxSession) else None
    if isinstance(parsed, SpiceboxSession) and session_class:
        names = coverage.effective(parsed.spec, session_class.spec)
        if isinstance(names, NotInClass):
            yield Remark("spec.toolspecs", names.message(session_class).removeprefix("spec.toolspecs "))


CHECKS: tuple[Check, ...] = (toolkit_is_whole, toolspec_can_judge, class_is_covered, session_narrows_its_class)


def _problems(found: Objection) -> Iterator[Remark]:
    level = Level.WARNING if found.reason is PolicyReason.TOOLKIT_MISSING else Level.ERROR
    for problem in found.problems:
        yield Remark(problem.path, problem.message, level)


def _certain(spec: SpiceboxClassSpec, policies: Policies) -> SpiceboxClassSpec:
    """The class without the tools that lack nothing but a toolkit that is in no file."""
    waiting = {each.tool for each in policies.waiting_among(each.name for each in spec.toolspecs)}
    lacking = waiting.intersection(coverage.uncovered(spec, policies.library))
    return spec.model_copy(update={"tools": tuple(tool for tool in spec.tools if tool.name not in lacking)})


def _toolspec(name: str) -> Key:
    return Key(SpiceboxToolspec.__name__, "", name)
