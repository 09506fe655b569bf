"""What can be set from outside, all by environment variables of this project's own prefix."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """The settings; each field is one variable, `TOOLCALL_` and its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="TOOLCALL_", frozen=True)

    supervisor: Path | None = Field(
        default=None,
        description="The supervisor binary. Unset: build/supervisor of the checkout, then toolcall-supervisor on PATH.",
    )
