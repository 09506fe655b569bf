"""Programs for the contract suites, and readable failures in the suite's own module."""

from __future__ import annotations

import pytest

from tests.contract import programs as built_programs

pytest.register_assert_rewrite("tests.contract.sandbox", "tests.contract.reattach", "tests.contract.harness")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> built_programs.Programs:
    """The Go programs."""
    return built_programs.built(tmp_path_factory.mktemp("programs"))
