"""A toolkit's command lines, looked up beforehand: the words of its subcommands, their flags and their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolcall_operator.api.commandline import Flag, Positional
from toolcall_operator.api.spiceboxtoolkit import Parser, SpiceboxToolkitSpec, Subcommand
from toolcall_operator.core.policy.commandline import flagwords, readers
from toolcall_operator.core.policy.commandline.flagwords import Scope, Uses
from toolcall_operator.core.policy.commandline.readers import Reader
from toolcall_operator.core.policy.commandline.values import Role

Named = Mapping[str, Uses]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for an argument that is no flag; a variadic one takes all that is left on its side of a double dash."""

    name: str
    variadic: bool
    required: bool
    reader: Reader


@dataclass(frozen=True, slots=True)
class Command:
    """How the command lines of one subcommand are read.

    `behind` is the first slot behind a double dash; None if the slots go on there where they stopped before it.
    `hidden` are names that mean another flag before the subcommand than after it.
    """

    subcommand: Subcommand
    scope: Scope
    slots: tuple[Slot, ...]
    behind: int | None
    ends_at_positional: bool
    knows_double_dash: bool
    hidden: frozenset[str]


@dataclass(slots=True)
class Node:
    """The subcommands that begin with the words that lead here; `command` is the one that ends here."""

    children: dict[str, Node] = field(default_factory=dict)
    command: Command | None = None

    def below(self, path: tuple[str, ...]) -> Node:
        """The node that these words lead to from here, made if need be."""
        node = self
        for word in path:
            node = node.children.setdefault(word, Node())
        return node


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """How the program reads its command lines, as far as its toolkit describes them."""

    leading: Scope
    root: Node

    @classmethod
    def of(cls, spec: SpiceboxToolkitSpec) -> Grammar:
        """The grammar of a toolkit. Of two descriptions of one thing the later counts."""
        shared = flagwords.tokens(spec.global_flags, Role.GLOBAL_FLAG)
        root = Node()
        for subcommand in spec.subcommands:
            root.below(subcommand.path).command = _command(subcommand, spec.parser, shared)
        bare = root.command.subcommand.flags if root.command else ()
        return cls(Scope(_leading(shared, bare), spec.parser), root)


def _leading(shared: Named, bare: tuple[Flag, ...]) -> Named:
    """The flags before a subcommand: the global ones.

    Not those that the bare program hides, as nothing tells them apart there, nor those that end the flags, as no
    subcommand can follow: the bare program reads both.
    """
    return {text: uses for text, uses in _not_hidden(shared, bare).items() if not uses[0].rule.ends_flags}


def _not_hidden(shared: Named, own: tuple[Flag, ...]) -> Named:
    """The global flags that are left beside a subcommand's own: one of the same name is gone, with its letter."""
    names, texts = {flag.name for flag in own}, flagwords.tokens(own, Role.FLAG)
    return {text: uses for text, uses in shared.items() if text not in texts and uses[0].rule.name not in names}


def _command(subcommand: Subcommand, parser: Parser, shared: Named) -> Command:
    own = flagwords.tokens(subcommand.flags, Role.FLAG)
    anywhere = parser.global_flags_at == "Anywhere" or not subcommand.path
    left = _not_hidden(shared, subcommand.flags) if anywhere else {}
    names = {flag.name for flag in subcommand.flags}
    slots, behind = _slots(subcommand.positional)
    return Command(
        subcommand=subcommand,
        scope=Scope({**left, **own}, parser),
        slots=slots,
        behind=behind,
        ends_at_positional=(subcommand.flags_end or parser.flags_end) == "AtFirstPositional",
        knows_double_dash=(subcommand.double_dash or parser.double_dash) == "EndsFlags",
        hidden=frozenset(uses[0].rule.name for uses in shared.values()) & names,
    )


def _slots(positional: tuple[Positional, ...]) -> tuple[tuple[Slot, ...], int | None]:
    """The places in their order, and the first behind a double dash. The last on either side may be variadic."""
    behind = next((place for place, slot in enumerate(positional) if slot.after_dash_dash), None)
    last = {len(positional) - 1, (behind or 0) - 1}
    return tuple(_slot(slot, last=place in last) for place, slot in enumerate(positional)), behind


def _slot(slot: Positional, *, last: bool) -> Slot:
    return Slot(slot.name, last and slot.type == "stringList", slot.required, readers.of(slot))
