"""A small grammar of the English of prompts, independent of the code that writes prompts."""

from __future__ import annotations

import re

MEDIA = r"photo|photograph|portrait|painting|sketch|cartoon|illustration|render"
FRAMES = rf"(?:(?:a|an|the) )?(?:[\w-]+ ){{0,4}}?(?:{MEDIA}) of "
PREPOSITIONS = "in|on|at|of|with|by|under|near|beside"
NOUNS_IN_ING = "morning|evening|spring|building|living|wedding|clothing|swimming|shopping|painting"
PARTICIPLES = rf"(?!(?:{NOUNS_IN_ING})\b)\w+ing\b"
SEVERAL = "nurses|doctors|people|women|students|cats|police"
BETWEEN = r"(?: (?!(?:and|who|in|on|at|by|with|under)\b)[\w-]+)"
AGES = "young|middle-aged|old"
PEOPLES = "white|african american|asian|south asian|middle eastern|hispanic"
GENDERS = "male|female"
FAULTS = {
    "two frames": rf"\b(?:{MEDIA})\b[\w ,-]*\b(?:{MEDIA}) of\b"
    r"(?<!photo portrait of)(?<!portrait photo of)",
    "a frame within": rf"^{FRAMES}.*\b(?:{MEDIA}) of\b",
    "an article before a plural": r"\ban? (?!few |group |couple )"
    r"(?:(?!few |of |with |without )[\w-]+ ){0,4}?"
    rf"(?:{SEVERAL})\b(?! (?:officer|car|station))",
    "a word twice": r"\b(\w+) \1\b",
    "an article twice": r"\b(?:an?|the|two) (?:an?|the|two)\b",
    "two prepositions": rf"\b(?:{PREPOSITIONS}) (?:{PREPOSITIONS})\b",
    "an open end": r"\b(?:an?|the|in|on|at|of|with|by|who|is|are|and)$",
    "an before a consonant": r"\ban (?![aeiou]|hour|honest|heir|x-ray|mri)\w+",
    "a before a vowel": r"\ba (?:[aeio](?!ne\b|nce\b|uro)|u(?!ni|s|r|b|k))\w+",
    "a chair to sit on": r"\bon (?:a )?wheelchairs?\b",
    "wearing twice": r"\bwearing\b.*\bwearing\b",
    "participles in a row": rf"(?<!\ba )(?<!\ban )\b{PARTICIPLES}{BETWEEN}{{0,2}} {PARTICIPLES}",
    "one is, several are": r"\b(?:two|nurses|doctors|students|people)\b(?: [\w-]+){0,3} who is\b",
    "gender before age": rf"\b(?:{GENDERS}) (?:{AGES}|{PEOPLES})\b",
    "origin before age": rf"\b(?:{PEOPLES}) (?:{AGES})\b",
    "where after when": r"\b(?:at night|at noon|in the (?:morning|evening)) (?:in|on|at) "
    r"(?:an?|the) (?!distant|present|\d)\w+",
    "view before place": r"\bseen (?:up close|from \w+(?: away)?) (?:in|on|at|by) ",
}


def faults(text: str) -> list[str]:
    """Return the rules of English that a prompt breaks."""
    return [name for name, pattern in FAULTS.items() if re.search(pattern, text, re.I)]
