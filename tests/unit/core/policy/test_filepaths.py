"""Paths of command lines as places of a sandbox."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core.policy import filepaths


@pytest.mark.parametrize(
    ("path", "found"),
    (
        pytest.param("/work/a", "/work/a", id="absolute"),
        pytest.param("a/b", "/workspace/a/b", id="relative"),
        pytest.param(".", "/workspace", id="the folder itself"),
        pytest.param("./a", "/workspace/a", id="dot first"),
        pytest.param("/work//a/./b/", "/work/a/b", id="detours"),
        pytest.param("/", "/", id="root"),
        pytest.param("//", "/", id="root twice"),
        pytest.param("...", "/workspace/...", id="three dots are a name"),
        pytest.param("a~", "/workspace/a~", id="tilde at the end is a name"),
        pytest.param("./~", "/workspace/~", id="tilde behind a dot is a name"),
        pytest.param("-", "/workspace/-", id="dash is a name"),
    ),
)
def test_a_path_has_one_spelling(path: str, found: str) -> None:
    assert filepaths.normalised(path, "/workspace") == found


@pytest.mark.parametrize(
    "path", ("", "..", "../a", "/work/../etc/passwd", "a/..", "/..", "/work/..a/..", "~", "~/x", "~root/x", "a\0b")
)
def test_a_path_that_may_be_elsewhere_than_it_looks_has_none(path: str) -> None:
    assert filepaths.normalised(path, "/workspace") is None


@pytest.mark.parametrize("cwd", ("", "work", "./work", "/work/.."))
def test_nothing_is_relative_to_a_folder_that_is_not_known(cwd: str) -> None:
    assert filepaths.normalised("a", cwd) is None


@pytest.mark.parametrize(
    ("path", "folder", "under"),
    (
        ("/work", "/work", True),
        ("/work/a", "/work", True),
        ("/work/a/b", "/work/a", True),
        ("/workspace", "/work", False),
        ("/", "/work", False),
        ("/etc/passwd", "/work", False),
        ("/etc/passwd", "/", True),
        ("/", "/", True),
    ),
)
def test_a_path_is_under_a_folder_by_whole_names(path: str, folder: str, *, under: bool) -> None:
    assert filepaths.is_under(path, folder) is under


@given(st.text(st.sampled_from("/.~ab-\0"), max_size=24), st.sampled_from(("/work", "/", "/a/b")))
def test_a_spelling_names_the_same_place_and_is_final(path: str, cwd: str) -> None:
    found = filepaths.normalised(path, cwd)

    if found is not None:
        assert found == posixpath.normpath(posixpath.join("/", cwd, path)).replace("//", "/")
        assert filepaths.normalised(found, "/elsewhere") == found
