"""How a program reads its command line: its flags and its positional arguments, as a toolkit describes them."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from toolcall_operator.api.base import Model
from toolcall_operator.api.schema import Text, in_schema
from toolcall_operator.api.types import EMPTY_IS_ABSENT, INT64, OneLine, Paragraph

ArgumentType = Literal["bool", "string", "int", "path", "url", "enum", "stringList"]
LongName = Annotated[
    StrictStr,
    Text(
        "^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$",
        64,
        "the name of a flag without its dashes: letters, digits, '.', '_', '-'",
    ),
]
ShortName = Annotated[StrictStr, Text("^[A-Za-z0-9#?:@]?$", 1, "one letter or digit, or one of # ? : @")]
SlotName = Annotated[
    StrictStr, Text("^[A-Za-z_][A-Za-z0-9_-]{0,63}$", 64, "made of letters, digits, '_' and '-', no digit first")
]
Whole = Annotated[StrictInt, Field(ge=-INT64, le=INT64), in_schema(format="int64")]

_SEPARATOR = Annotated[StrictStr, Field(max_length=8)]


class Argument(Model):
    """One value on a command line: what it may be."""

    type: ArgumentType = Field(
        description=(
            "What the value is. stringList: several values, of a repeated flag or of the rest of the line. url: what "
            "is neither empty nor a lone dash and holds no white space or control character, as programs also take "
            "example.com/x, git@example.com:x and names of remotes for one; where it may lead is for toolspecs to say."
        )
    )
    values: tuple[OneLine, ...] = Field(
        default=(),
        max_length=256,
        description="The only values there are; of a stringList each is one of them. Required for enum, not for bool.",
    )
    split_on: Annotated[_SEPARATOR | None, EMPTY_IS_ABSENT] = Field(
        default=None,
        description=(
            "What separates several values in one argument, such as a comma. Only stringList takes several: with any "
            "other type an argument that holds it is refused."
        ),
    )
    minimum: Whole | None = Field(default=None, description="For int: the least value.")
    maximum: Whole | None = Field(default=None, description="For int: the greatest value.")
    description: Paragraph | None = Field(default=None, description="What it is for.")


class Flag(Argument):
    """A flag: what begins with a dash."""

    long: Annotated[LongName | None, EMPTY_IS_ABSENT] = Field(
        default=None, description="The name after two dashes. A flag needs this or short."
    )
    short: Annotated[ShortName | None, EMPTY_IS_ABSENT] = Field(default=None, description="The letter after one dash.")
    optional_value: StrictBool = Field(
        default=False, description="Whether the value may be left out; it is then never in the next argument."
    )
    arity: Annotated[StrictInt, Field(ge=1, le=4), in_schema(format="int32")] = Field(
        default=1, description="How many arguments each use takes as its values; more than one only for stringList."
    )
    ends_flags: StrictBool = Field(
        default=False, description="Whether nothing after this flag and its value is read as a flag (python3 -c)."
    )
    requires_constraint: StrictBool = Field(
        default=False,
        description=(
            "Whether calls may use it only under a toolspec with a constraint that names it. Any that does is enough, "
            "also one that is always true: what it asks for is up to its author."
        ),
    )
    sensitive: StrictBool = Field(default=False, description="Whether its values must not be shown.")

    @property
    def name(self) -> str:
        """The name under which its value is found: the long one, or else the short one."""
        return self.long or self.short or ""


class Positional(Argument):
    """A place for an argument that is no flag; a stringList takes all that is left if it is the last, or else one."""

    name: SlotName = Field(description="The name under which its value is found.")
    required: StrictBool = Field(default=False, description="Whether it must be there.")
    after_dash_dash: StrictBool = Field(
        default=False, description="Whether it begins behind a double dash. At most one does."
    )
