"""Pure edits of configuration text that a second run leaves alone."""


def with_block(text: str, name: str, lines: list[str]) -> str:
    """The text with one marked block of ours holding ``lines``; everything outside of the marks stays.

    No lines remove the block.
    """
    begin, end = f"# BEGIN hyperpod-constructs {name}", f"# END hyperpod-constructs {name}"
    kept: list[str] = []
    inside = False
    position: int | None = None
    for line in text.splitlines():
        if line == begin:
            inside, position = True, len(kept) if position is None else position
        elif line == end and inside:
            inside = False
        elif not inside:
            kept.append(line)
    block = [begin, *lines, end] if lines else []
    position = len(kept) if position is None else position
    result = kept[:position] + block + kept[position:]
    return "\n".join(result) + "\n" if result else ""


def has_line(text: str, line: str) -> bool:
    """Whether a line is there, whatever the spaces around it."""
    return any(candidate.strip() == line for candidate in text.splitlines())
