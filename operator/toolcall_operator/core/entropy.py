"""Whether a text looks as random as a key does: a hint for people, never a reason to refuse."""

from __future__ import annotations

import math
import re
from collections import Counter

BITS_PER_CHARACTER = 4.5

VALUE_JUDGED = 4_096
DOCUMENT_JUDGED = 65_536

# 22 different characters carry at most log2(22) = 4.46 bits each. Words under 16 characters and hexadecimal ones (22
# digits in both cases) can therefore never reach the threshold and need no rule of their own, and most words are
# dropped before anything is counted.
_DISTINCT = 23

# The alphabets of base64, its URL-safe form, JWTs and prefixed tokens; quotes, brackets and commas end a word, so JSON
# and prose are many short words.
_TOKEN = re.compile(rf"[A-Za-z0-9+/=_.~-]{{{_DISTINCT},}}", re.ASCII)


def bits(text: str) -> float:
    """Shannon entropy of the characters of `text`, in bits per character; 0 for an empty text."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values())


def high_entropy(value: str) -> bool:
    """Whether an environment value looks like a key: a word of 16 characters or more, not hexadecimal, 4.5 bits each.

    CR and LF are removed first, so a wrapped key is one word; other white space separates words, so a sentence of any
    length is none. The first 4,096 characters are judged.
    """
    return any(map(_random, value[:VALUE_JUDGED].replace("\r", "").replace("\n", "").split()))


def holds_high_entropy(document: str) -> bool:
    """Whether a document (arguments, standard input) holds a word that looks like a key, by the same measure.

    Documents are often prose, code or JSON, so only runs of the characters that keys are made of are judged, each line
    on its own. The first 65,536 characters are judged: some 15 ms at worst, however long the document is.
    """
    return any(map(_random, _TOKEN.findall(document, 0, DOCUMENT_JUDGED)))


def _random(word: str) -> bool:
    return len(set(word)) >= _DISTINCT and bits(word) >= BITS_PER_CHARACTER
