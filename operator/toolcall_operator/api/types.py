"""The types of single fields: their bounds and grammar are written here once, for the models and for the CRDs."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, StrictInt, StrictStr, WithJsonSchema

from toolcall_operator.api.schema import AtMostBytes, Text, bytes_in, in_schema, refused, schema_only

KiB, MiB = 1024, 1024 * 1024
LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
INT32 = 2**31 - 1
INT64 = 2**53 - 1
"""Beyond this a number is not exact in every reader of JSON, the API server's own checks of a schema among them."""

_NO_NUL = r"^[^\x00]*$"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise refused("must not hold a NUL character")
    return _unicode(text)


def _unicode(text: str) -> str:
    if re.search("[\ud800-\udfff]", text):
        raise refused("must be valid Unicode text")
    return text


def _absent_if_empty(text: str | None) -> str | None:
    return text or None


def read_only(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping, closed to writers (its values are not copied)."""
    return MappingProxyType(dict(mapping))


def empty() -> Mapping[str, Any]:
    """Nothing, closed to writers."""
    return MappingProxyType({})


def _json_of_at_most(limit: int, words: str) -> AfterValidator:
    def check(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
        if bytes_in(_json(mapping)) > limit:
            raise refused(f"must be at most {words} as JSON")
        return read_only(mapping)

    return AfterValidator(check)


def _json(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        same = json.loads(text) == value  # not so if a name was no text: it was made one
    except (TypeError, ValueError, RecursionError):
        same, text = False, ""
    if not same:
        raise refused("must hold nothing but JSON: objects, lists, text, numbers, true, false and null")
    return text


# Text -----------------------------------------------------------------------------------------------------------------
EMPTY_IS_ABSENT = AfterValidator(_absent_if_empty)
"""On optional text for which other programs write an empty one where they mean none."""
OneLine = Annotated[StrictStr, Field(max_length=256), AfterValidator(_unicode)]
Paragraph = Annotated[StrictStr, Field(max_length=4096), AfterValidator(_unicode)]
LongLine = Annotated[StrictStr, Field(min_length=1, max_length=1024), AfterValidator(_unicode)]
Expression = Annotated[StrictStr, Field(min_length=1, max_length=4096), AfterValidator(_unicode)]
"""In the Common Expression Language."""
Prose = Annotated[StrictStr, Field(max_length=65_536), AfterValidator(_unicode)]
Url = Annotated[StrictStr, Field(max_length=2048), AfterValidator(_unicode)]
ArtifactRef = Annotated[StrictStr, Field(min_length=1, max_length=2048), AfterValidator(_unicode)]
Path = Annotated[
    StrictStr, Field(min_length=1, max_length=4096), AfterValidator(_without_nul), in_schema(pattern=_NO_NUL)
]
AbsolutePath = Annotated[StrictStr, Text(r"^/[^\x00]*$", 4096, "an absolute path")]
Sha256 = Annotated[StrictStr, Text("^[0-9a-f]{64}$", 64, "64 lower-case hexadecimal digits")]
Digest = Annotated[StrictStr, Text("^sha256:[0-9a-f]{64}$", 71, "sha256: and 64 lower-case hexadecimal digits")]
Uid = Annotated[StrictStr, Text("^[A-Za-z0-9-]+$", 64, "made of letters, digits and '-'")]

# Names ----------------------------------------------------------------------------------------------------------------
_LABEL_WORDS = "made of lower-case letters, digits and '-', beginning and ending with a letter or digit"
Label = Annotated[StrictStr, Text(f"^{LABEL}$", 63, _LABEL_WORDS)]
ShortLabel = Annotated[StrictStr, Text(f"^{LABEL}$", 52, _LABEL_WORDS)]
"""A name that also serves as a label value and as the beginning of other names."""
Name = Annotated[
    StrictStr,
    Text(
        rf"^{LABEL}(\.{LABEL})*$",
        253,
        "made of lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
    ),
]
ToolName = Annotated[
    StrictStr,
    Text(
        "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$",
        64,
        "made of letters, digits, '_', '.' and '-', beginning with none of the last two",
    ),
]
SecretKey = Annotated[StrictStr, Text("^[-._a-zA-Z0-9]+$", 253, "made of letters, digits, '-', '_' and '.'")]
HeaderName = Annotated[StrictStr, Text(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 256, "the name of an HTTP header")]
HeaderValue = Annotated[
    StrictStr,
    Text(r"^([\x21-\x7e]([\x20\t\x21-\x7e]*[\x21-\x7e])?)?$", 4096, "printable ASCII without blanks at either end"),
]
HeaderPrefix = Annotated[StrictStr, Text(r"^[\x20-\x7e]*$", 256, "printable ASCII")]

# The environment and the command line ---------------------------------------------------------------------------------
EnvName = Annotated[StrictStr, schema_only(maxLength=256, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
"""Any text: a name that no process can have ends the call EnvNameInvalid (CRDs cannot judge the keys of a map)."""
EnvValue = Annotated[
    StrictStr, AfterValidator(_without_nul), AtMostBytes(32 * KiB, "32 KiB"), in_schema(pattern=_NO_NUL)
]
Env = Annotated[Mapping[StrictStr, EnvValue], Field(max_length=128), AfterValidator(read_only), PlainSerializer(dict)]
Argument = Annotated[
    StrictStr, AfterValidator(_without_nul), schema_only(maxLength=128 * KiB - 1), in_schema(pattern=_NO_NUL)
]
"""Longer than the kernel takes (131,071 bytes) ends the call ArgumentsTooLong."""
Stdin = Annotated[StrictStr, AfterValidator(_unicode), AtMostBytes(MiB, "1 MiB")]
ResultText = Annotated[StrictStr, AfterValidator(_unicode), AtMostBytes(32 * KiB, "32 KiB")]

# Numbers --------------------------------------------------------------------------------------------------------------
Int32 = Annotated[StrictInt, Field(ge=-INT32 - 1, le=INT32), in_schema(format="int32")]
Count32 = Annotated[StrictInt, Field(ge=0, le=INT32), in_schema(format="int32")]
Count64 = Annotated[StrictInt, Field(ge=0, le=INT64), in_schema(format="int64")]
Pids = Annotated[StrictInt, Field(ge=1, le=4_194_304), in_schema(format="int32")]
"""Linux has no more process ids (PID_MAX_LIMIT)."""
Positive32 = Annotated[StrictInt, Field(ge=1, le=INT32), in_schema(format="int32")]

# Free-form objects ----------------------------------------------------------------------------------------------------
_FREE = WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
Arguments = Annotated[Mapping[str, Any], _json_of_at_most(128 * KiB, "128 KiB"), PlainSerializer(dict), _FREE]
FreeForm = Annotated[Mapping[str, Any], _json_of_at_most(64 * KiB, "64 KiB"), PlainSerializer(dict), _FREE]
Labels = Annotated[Mapping[StrictStr, OneLine], Field(max_length=64), AfterValidator(read_only), PlainSerializer(dict)]
