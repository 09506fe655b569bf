"""The tools of a class: programs in the sandbox, services of the deployment, HTTP endpoints."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr, model_validator

from toolcall_operator.api.base import Model
from toolcall_operator.api.durations import UpToTenMinutes
from toolcall_operator.api.schema import KeyedBy, Text, cel, refused, rules
from toolcall_operator.api.types import Argument, FreeForm, HeaderName, HeaderValue, OneLine, Paragraph, ToolName, Url

_ONE_OF = "needs exactly one of command, service and http"
_ONE_OF_RULE = "[has(self.command), has(self.service), has(self.http)].filter(each, each).size() == 1"
_DEFAULT_ARGS = "has defaultArgs, which only a command takes"
_NAMELESS = "must begin with the name of a program"

ServiceName = Annotated[
    StrictStr, Text("^[a-z][a-z0-9-]*$", 63, "made of lower-case letters, digits and '-', beginning with a letter")
]
ServicePath = Annotated[
    StrictStr, Text(r"^/[^?#\\%\x00-\x20\x7f]*$", 1024, "a path that begins with '/', without '?', '#', '%' and blanks")
]


def _named(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command[0]:
        raise refused(_NAMELESS)
    return command


Command = Annotated[tuple[Argument, ...], Field(min_length=1, max_length=64), AfterValidator(_named)]


class ServiceTool(Model):
    """A tool that a service of the deployment answers."""

    name: ServiceName = Field(description="The service, by the name under which a ServiceGrant grants it.")
    path: ServicePath = Field(description="The path that is added to the granted address.")


class Header(Model):
    """A header of a request, without secrets."""

    name: HeaderName = Field(description="The header's name.")
    value: HeaderValue = Field(description="The header's value.")


class HTTPRequest(Model):
    """A tool that an HTTP endpoint answers."""

    url: Url = Field(description="The address; {name} in it is filled with the argument of that name.")
    method: Literal["GET", "DELETE", "POST", "PUT", "PATCH"] = Field(
        default="POST", description="GET and DELETE send the arguments as a query, the others as a JSON body."
    )
    headers: Annotated[tuple[Header, ...], KeyedBy("name")] = Field(
        default=(), max_length=32, description="Headers to send. Never secrets."
    )
    credential: OneLine | None = Field(default=None, description="The credential to send, by its name.")
    interruptible: StrictBool = Field(default=True, description="Whether a request that is under way may be given up.")


class Tool(Model):
    """One tool: a program of the image, a service of the deployment, or an HTTP endpoint."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(_ONE_OF_RULE, f"a tool {_ONE_OF}"),
            cel("!has(self.command) || self.command[0] != ''", f"command {_NAMELESS}", "command"),
            cel(
                "!has(self.defaultArgs) || self.defaultArgs == [] || has(self.command)",
                f"a tool {_DEFAULT_ARGS}",
                "defaultArgs",
            ),
        )
    )

    name: ToolName = Field(description="The name by which calls ask for the tool.")
    command: Command | None = Field(
        default=None, description="The program and its first arguments. No shell reads them."
    )
    default_args: tuple[Argument, ...] = Field(
        default=(), max_length=256, description="Arguments put between command and the args of the call."
    )
    expected_duration: Literal["short", "long", "persistent"] = Field(
        default="short", description="persistent: processes left in the background live until the session ends."
    )
    description: Paragraph | None = Field(default=None, description="What the tool does, for the agent.")
    parameters: FreeForm | None = Field(default=None, description="The JSON schema of the tool's arguments.")
    scope: OneLine | None = Field(
        default=None, description="The scope a session must have been granted to use the tool."
    )
    timeout: UpToTenMinutes | None = Field(
        default=None, description="How long a service or endpoint may take to answer. Absent: the class's toolTimeout."
    )
    service: ServiceTool | None = Field(default=None, description="The service that answers.")
    http: HTTPRequest | None = Field(default=None, description="The HTTP endpoint that answers.")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if [self.command, self.service, self.http].count(None) != 2:  # noqa: PLR2004 (two of the three are absent)
            raise refused(_ONE_OF)
        if self.default_args and self.command is None:
            raise refused(_DEFAULT_ARGS)
        return self
