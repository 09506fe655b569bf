"""Writes `crds/*.yaml` from the models; with `--check` it shows where they differ, and exits 1 when they do."""

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from toolcall_operator.api import crds

FOLDER = Path(__file__).resolve().parent.parent / "crds"
HEADER = "# Generated from the models by `make crds`. Do not edit: change operator/toolcall_operator/api instead.\n"


class Plain(yaml.SafeDumper):
    """Writes what is the same twice, instead of a reference to the first."""

    def ignore_aliases(self, _data: object) -> bool:
        """Whether the value is written out again: always."""
        return True


def generated() -> dict[Path, str]:
    """Every file and the text it must have."""
    return {FOLDER / f"{kind.plural}.yaml": text(kind) for kind in crds.KINDS}


def text(kind: crds.Kind) -> str:
    """The CRD of a kind as YAML, in the order in which the models and `crds` say things."""
    definition = crds.definition(kind)
    return HEADER + yaml.dump(definition, Dumper=Plain, sort_keys=False, width=120, allow_unicode=True)


def differences(files: dict[Path, str]) -> Iterator[str]:
    """The lines of a diff between the folder and `files`; none when they agree."""
    for path in sorted({*files, *FOLDER.glob("*.yaml")}):
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        name = str(path.relative_to(FOLDER.parent))
        expected = files.get(path, "")
        yield from difflib.unified_diff(
            present.splitlines(), expected.splitlines(), name, f"{name} (models)", lineterm=""
        )


def write(files: dict[Path, str]) -> None:
    """Make the folder hold exactly `files`."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.yaml"):
        if path not in files:
            path.unlink()
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")


def main() -> int:
    """Write or check, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 and show a diff when files differ")
    if not parser.parse_args().check:
        write(generated())
        return 0
    found = list(differences(generated()))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
