"""SpiceboxToolkit: what one command-line program can do, as far as anybody may use it."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from toolcall_operator.api.base import Manifest, Model, ObjectMeta, Observed
from toolcall_operator.api.commandline import Flag, Positional
from toolcall_operator.api.conditions import Condition
from toolcall_operator.api.effects import Effects
from toolcall_operator.api.permissions import Permission, PermissionVariant
from toolcall_operator.api.schema import KeyedBy, Text
from toolcall_operator.api.types import (
    EMPTY_IS_ABSENT,
    Argument,
    Count64,
    Env,
    EnvName,
    FreeForm,
    OneLine,
    Paragraph,
    Prose,
    ToolName,
    Url,
    empty,
)

Revision = Annotated[StrictStr, Text(r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$", 64, "letters, digits, '.', '_', '+', '-'")]
Word = Annotated[StrictStr, Text(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$", 64, "one word that does not begin with a dash")]


class Extract(Model):
    """Where the version stands in what the probe prints."""

    kind: Literal["regex", "json", "line1"] = Field(description="How it is found.")
    pattern: Annotated[StrictStr, Field(max_length=256)] | None = Field(
        default=None, description="A regular expression with one group, or the path of a field."
    )


class VersionProbe(Model):
    """How to ask the program for its version."""

    args: tuple[Argument, ...] = Field(max_length=16, description="The arguments that make it print its version.")
    extract: Extract = Field(description="Where the version stands in what it prints.")


class Target(Model):
    """The program."""

    binary: Annotated[StrictStr, Text(r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$", 64, "the name of a program")] = Field(
        description="The name of the program: the last part of the first word of the tool's command."
    )
    version_range: Annotated[OneLine | None, EMPTY_IS_ABSENT] = Field(
        default=None, description="The versions that are described, such as >=2.30."
    )
    version_probe: VersionProbe | None = Field(default=None, description="How to ask it for its version.")
    pinned_binary_hash: Annotated[OneLine | None, EMPTY_IS_ABSENT] = Field(
        default=None, description="Must be absent: nothing here compares its file with a hash."
    )


class Parser(Model):
    """How the program reads its command line. What it does not describe is refused."""

    kind: Literal["declarative", "builtin"] = Field(description="declarative: by this description.")
    name: Annotated[OneLine | None, EMPTY_IS_ABSENT] = Field(default=None, description="For builtin: which parser.")
    bundled_shorts: StrictBool = Field(
        default=False, description="Whether short flags may be written as one argument: -la for -l -a."
    )
    attached_values: StrictBool = Field(
        default=False, description="Whether the value of a short flag may follow in the same argument: -n5 for -n 5."
    )
    attached_equals: StrictBool = Field(
        default=False, description="Whether an = before such a value is not a part of it: -o=json for -o json."
    )
    global_flags_at: Literal["Anywhere", "BeforeSubcommand"] = Field(
        default="Anywhere", description="Where global flags are read: also behind the subcommand, or only before it."
    )
    flags_end: Literal["AtDoubleDash", "AtFirstPositional"] = Field(
        default="AtDoubleDash", description="After which argument nothing is read as a flag any more."
    )
    double_dash: Literal["EndsFlags", "Refused"] = Field(
        default="EndsFlags", description="What a double dash means. Refused: the program knows none."
    )


class AllowedEnv(Model):
    """A variable that the program reads."""

    name: EnvName = Field(description="Its name.")
    sensitive: StrictBool = Field(default=False, description="Whether its value must not be shown.")
    credential: Annotated[OneLine | None, EMPTY_IS_ABSENT] = Field(
        default=None, description="The credential it carries. Required if it is sensitive."
    )
    description: Paragraph | None = Field(default=None, description="What it is for.")
    title: OneLine | None = Field(default=None, description="Its name for people.")
    provider: OneLine | None = Field(default=None, description="Who issues the credential.")
    prompt: Paragraph | None = Field(default=None, description="How a person is asked for it.")


class ToolkitEnv(Model):
    """The variables that the program reads."""

    allowed: Annotated[tuple[AllowedEnv, ...], KeyedBy("name")] = Field(
        max_length=256, description="The variables that calls and sessions may set, and those that carry credentials."
    )


class Subcommand(Model):
    """One thing the program can do."""

    path: tuple[Word, ...] = Field(max_length=8, description="Its words, such as [pr, view]. None: the bare program.")
    effects: Effects = Field(description="What it does to the world.")
    description: Paragraph | None = Field(default=None, description="What it does, for people.")
    flags: tuple[Flag, ...] = Field(default=(), max_length=256, description="Its flags; they hide global ones.")
    positional: Annotated[tuple[Positional, ...], KeyedBy("name")] = Field(
        default=(), max_length=32, description="Its arguments, in their order."
    )
    flags_end: Literal["AtDoubleDash", "AtFirstPositional"] | None = Field(
        default=None, description="After which argument nothing is a flag any more. Absent: as the parser says."
    )
    double_dash: Literal["EndsFlags", "Refused"] | None = Field(
        default=None,
        description="What a double dash means. Refused also where what follows is handed on and read as flags. Absent: "
        "as the parser says.",
    )
    stdin: Literal["Data", "Program"] = Field(
        default="Data", description="What standard input is to it. Program: it runs what it reads there."
    )
    mode: OneLine | None = Field(default=None, description="How it runs; for the runner.")
    permission: Permission | None = Field(default=None, description="What it needs to be permitted; for the runner.")
    permission_variants: tuple[PermissionVariant, ...] = Field(
        default=(), max_length=32, description="Permissions that count instead; for the runner."
    )
    timeout: Annotated[Annotated[StrictStr, Field(max_length=64)] | None, EMPTY_IS_ABSENT] = Field(
        default=None, description="How long it usually takes at most; for the runner."
    )

    @property
    def name(self) -> str:
        """Its words in one text, as toolspecs name it."""
        return " ".join(self.path)


class SpiceboxToolkitSpec(Model):
    """What one program can do."""

    name: ToolName = Field(description="The tool: the name of the tool in classes.")
    toolkit_revision: Revision = Field(description="The revision of this description; toolspecs name it.")
    version: OneLine | None = Field(default=None, description="The version of the program that was described.")
    docs: Prose | None = Field(default=None, description="What the program is for.")
    site_url: Url | None = Field(default=None, description="Where its documentation is.")
    stream_format: OneLine | None = Field(default=None, description="The format of its output; for the runner.")
    target: Target = Field(description="The program.")
    parser: Parser = Field(description="How it reads its command line.")
    env: ToolkitEnv = Field(description="The variables it reads.")
    env_defaults: Env = Field(
        default_factory=empty, repr=False, description="Variables of its calls, unless call, session or class set them."
    )
    global_flags: tuple[Flag, ...] = Field(
        default=(), max_length=256, description="Flags that stand before the subcommand, or anywhere after it."
    )
    subcommands: tuple[Subcommand, ...] = Field(max_length=512, description="Everything it may be asked to do.")
    permission: Permission | None = Field(
        default=None, description="What subcommands need that say nothing themselves; for the runner."
    )
    spicedb_schema: FreeForm | None = Field(default=None, description="The types of its permissions; for the runner.")


class SpiceboxToolkitStatus(Observed):
    """What was found out about the toolkit. Only the operator writes it."""

    conditions: Annotated[tuple[Condition, ...], KeyedBy("type")] = Field(
        default=(), max_length=16, description="Valid: whether toolspecs can build on it."
    )
    observed_generation: Count64 | None = Field(
        default=None, description="The metadata.generation this status speaks of."
    )


class SpiceboxToolkit(Manifest):
    """What one command-line program can do: its subcommands, its flags, and what they do to the world."""

    kind: Literal["SpiceboxToolkit"] = "SpiceboxToolkit"
    metadata: ObjectMeta
    spec: SpiceboxToolkitSpec = Field(description="What the program can do.")
    status: SpiceboxToolkitStatus | None = Field(
        default=None, description="What was found out; written by the operator."
    )
