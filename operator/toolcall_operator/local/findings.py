"""What was found in manifest files: where, and what of it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: an error cannot work; a warning may be meant, and deserves a look."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: file, line (0 where there is none), field (empty for a whole document) and what."""

    source: str
    line: int
    path: str
    message: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        """The finding on one line, in the form editors jump to."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        return f"{place}: {self.level}: {f'{self.path} ' if self.path else ''}{self.message}"
