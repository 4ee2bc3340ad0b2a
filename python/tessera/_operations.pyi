"""Made by function-docs: the functions of the language and its dtypes."""

OPERATIONS: tuple[tuple[str, str, str, str, str], ...]
DTYPES: tuple[str, ...]
ALIASES: dict[str, str]
