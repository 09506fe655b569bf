"""What can be set from outside: every setting is an environment variable of this project's prefix, and a flag."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from toolcall_operator.api.durations import Duration
from toolcall_operator.core.exchange import Origin

PREFIX = "TOOLCALL_"

List = Annotated[tuple[str, ...], NoDecode]
"""In a variable, its parts are separated by commas."""


class OutsideSettings(BaseSettings):
    """Whom the operator may speak to outside; each field is one variable, `TOOLCALL_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, hide_input_in_errors=True)

    trusted_issuers: List = Field(
        default=(),
        description=(
            "The issuers of authorization servers that federated credentials may be had from, exactly as they write "
            "themselves, separated by commas. None: there are no federated credentials."
        ),
    )
    egress_open: List = Field(
        default=(),
        description=(
            "Origins such as https://idp.internal:8443 that the operator may speak to although their addresses are "
            "private, or without TLS if they say http, separated by commas. None: no others than public ones, by TLS."
        ),
    )
    egress_ca: str = Field(
        default="",
        description="A file of certificates that the operator trusts besides those of its system. Unset: those alone.",
    )

    @field_validator("trusted_issuers", "egress_open", mode="before")
    @classmethod
    def _split_texts(cls, value: object) -> object:
        return _split(value)

    @field_validator("trusted_issuers")
    @classmethod
    def _are_issuers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not all(each.startswith("https://") for each in value):
            raise ValueError("an issuer begins with https://")
        return value

    @field_validator("egress_open")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            Origin.parse(each)
        return value


class Settings(OutsideSettings):
    """The settings of an embedded run."""

    supervisor: Path | None = Field(
        default=None,
        description="The supervisor binary. Unset: build/supervisor of the checkout, then toolcall-supervisor on PATH.",
    )


class OperatorSettings(OutsideSettings):
    """The settings of the operator."""

    namespaces: List = Field(
        default=(),
        description="The namespaces whose calls are run, separated by commas. None: those of the whole cluster.",
    )
    kubeconfig: str = Field(
        default="",
        description="The kubeconfig. Unset: KUBECONFIG, else the pod's service account, else ~/.kube/config.",
    )
    context: str = Field(default="", description="The context of the kubeconfig. Unset: its current one.")
    operator_namespace: str = Field(
        default="",
        description="Where the operator keeps its Lease and its key. Unset: its own namespace, else default.",
    )
    artifacts: str = Field(
        default="toolcall-artifacts",
        description="The URL of the object store, or a folder, that keeps what tools wrote.",
    )
    supervisor_image: str = Field(
        default="toolcall.local/supervisor:local", description="The image that the supervisor is installed from."
    )
    sandbox_image: str = Field(
        default="", description="The image of sandboxes whose class names none. Unset: such a class is not valid."
    )
    calls: int = Field(default=256, ge=1, description="How many calls run at once.")
    calls_per_namespace: int = Field(default=128, ge=1, description="How many calls of one namespace run at once.")
    pod_tasks: int = Field(
        default=1024, ge=128, description="How many processes and threads a pod may have: the kubelet's podPidsLimit."
    )
    spool_size: int = Field(
        default=256 * 1024**2, ge=1024**2, description="How many bytes of output one sandbox keeps until it is stored."
    )
    enforce_network: bool = Field(
        default=True, description="Whether a sandbox runs calls only once its NetworkPolicy was seen to hold:"
    )
    internal_ranges: List = Field(
        default=(),
        description=(
            "Ranges that sandboxes may not reach, besides private and link-local ones, separated by commas: "
            "pods, Services and nodes that have public addresses. None: no others."
        ),
    )
    credential_consent: Literal["label", "admission"] = Field(
        default="label",
        description=(
            "Who says which Secrets calls may use: whoever keeps one, by its label "
            "agentprimitives.authzed.com/credential, or the policy of examples/operator/credential-policy.yaml:"
        ),
    )
    session_ready_timeout: Duration = Field(
        default=timedelta(minutes=2),
        gt=timedelta(),
        description="How long a call waits for the sandbox of its session to start. More than 0s.",
    )
    fault_budget: Duration = Field(
        default=timedelta(minutes=2),
        gt=timedelta(),
        description=(
            "How long faults of the operator or the cluster are put up with before a call is claimed. More than 0s."
        ),
    )
    channel_idle: Duration = Field(
        default=timedelta(minutes=5),
        description="How long the channel to a sandbox without calls is kept.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="What is logged:")

    @field_validator("namespaces", "internal_ranges", mode="before")
    @classmethod
    def _split_lists(cls, value: object) -> object:
        return _split(value)


def _split(value: object) -> object:
    """A variable's text as the list it stands for."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def flag(name: str) -> str:
    """The command line's flag of a setting."""
    return f"--{name.replace('_', '-')}"
