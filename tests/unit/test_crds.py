"""The committed CRDs are the ones the models make."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from toolcall_operator.api import crds

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "hack" / "generate_crds.py"


@pytest.fixture
def generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module that writes elsewhere."""
    spec = importlib.util.spec_from_file_location("generate_crds", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path / "crds")
    return module


def test_the_committed_files_are_what_the_models_say() -> None:
    check = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)

    assert (check.returncode, check.stdout) == (0, ""), "run `make crds`"


@pytest.mark.parametrize("kind", crds.KINDS, ids=lambda kind: kind.name)
def test_a_committed_file_reads_as_its_definition(kind: crds.Kind) -> None:
    committed = yaml.safe_load((ROOT / "crds" / f"{kind.plural}.yaml").read_text(encoding="utf-8"))

    assert committed == crds.definition(kind)


def test_what_was_written_does_not_differ(generator: ModuleType) -> None:
    generator.write(generator.generated())

    assert list(generator.differences(generator.generated())) == []


def test_a_changed_a_missing_and_a_foreign_file_show_in_the_diff(generator: ModuleType) -> None:
    generator.write(generator.generated())
    folder: Path = generator.FOLDER
    (folder / "toolcalls.yaml").write_text(
        (folder / "toolcalls.yaml").read_text().replace("maxItems: 1024", "maxItems: 1")
    )
    (folder / "spiceboxclasses.yaml").unlink()
    (folder / "others.yaml").write_text("kind: Other\n")

    lines = list(generator.differences(generator.generated()))

    assert "-                maxItems: 1" in lines
    assert "+++ crds/spiceboxclasses.yaml (models)" in lines
    assert "-kind: Other" in lines


def test_writing_removes_what_the_models_do_not_have(generator: ModuleType) -> None:
    generator.write(generator.generated())
    (generator.FOLDER / "others.yaml").write_text("kind: Other\n")

    generator.write(generator.generated())

    assert {path.name for path in generator.FOLDER.iterdir()} == {f"{kind.plural}.yaml" for kind in crds.KINDS}
