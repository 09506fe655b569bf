"""The environment a call adds to the base environment of its sandbox: credentials first, then what was set in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.outcomes import ExecRequest


def assemble(
    spec_env: Mapping[str, str],
    default_env: Mapping[str, str],
    toolkit_env: Mapping[str, str] | None = None,
    class_env: Mapping[str, str] | None = None,
) -> Mapping[str, str]:
    """The variables to give a process, by precedence: the call's, its session's, those of the toolkit it was judged by.

    A value of the call that equals the toolkit's default counts as that default: runners copy them into calls. A
    default gives way to the session's value, and to the class's, which is part of the sandbox's base environment
    already and is not exported again.
    """
    toolkit, of_class = toolkit_env or {}, class_env or {}
    chosen = {name: value for name, value in spec_env.items() if toolkit.get(name) != value}
    defaults = {name: value for name, value in toolkit.items() if name not in of_class}
    return {**defaults, **default_env, **chosen}


def carrying(request: ExecRequest, carried: Carried) -> ExecRequest:
    """The request with credentials; a variable that carries one is set by nobody else."""
    env = {name: value for name, value in request.env.items() if name not in carried.env}
    return replace(request, env=env, credentials=carried)
