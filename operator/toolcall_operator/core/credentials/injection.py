"""Where credentials go: the variables of a process, the headers of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolcall_operator.core.credentials.references import Reference
from toolcall_operator.core.credentials.values import Hidden


def environment(references: Iterable[Reference], values: Iterable[Hidden]) -> Mapping[str, Hidden]:
    """The variables that carry credentials: `values` are those of `references`, in their order."""
    return {each.env_var: value for each, value in zip(references, values, strict=True) if each.env_var}


def headers(references: Iterable[Reference], values: Iterable[Hidden]) -> Mapping[str, Hidden]:
    """The headers that carry credentials, each with the text that is put before it."""
    return {
        each.header: Hidden(each.value_prefix + value.reveal())
        for each, value in zip(references, values, strict=True)
        if each.header
    }
