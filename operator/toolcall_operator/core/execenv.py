"""The environment a call adds to the base environment of its sandbox."""

from __future__ import annotations

from collections.abc import Mapping


def assemble(spec_env: Mapping[str, str], default_env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables to give a process: those of the call, then those of its session that the call does not set.

    The class's `envDefaults` are part of the sandbox's base environment already and are not exported again.
    """
    return {**default_env, **spec_env}
