"""Paths of a command line as places of a sandbox: absolute, without detours, and below which folder."""

from __future__ import annotations


def normalised(path: str, cwd: str) -> str | None:
    """The one spelling of `path`, read in folder `cwd`; None for one that may be somewhere else than it looks.

    Those are a path with `..` (through a symbolic link it leads anywhere), one that begins with `~` (some programs
    read a home folder there), one with a NUL, an empty one, and a relative one where `cwd` is not absolute itself.
    Symbolic links cannot be seen here: the kernel keeps writes inside, see `confinement`.
    """
    if not path or path[0] == "~" or "\0" in path:
        return None
    if path[0] != "/":
        if cwd[:1] != "/":
            return None
        path = f"{cwd}/{path}"
    steps = path.split("/")
    if ".." in steps:
        return None
    return "/" + "/".join(step for step in steps if step and step != ".")


def is_under(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or below it; both are normalised."""
    return folder in {"/", path} or path.startswith(f"{folder}/")
