"""The tutorial is true: its commands run in an empty folder, in order, and print what the page shows. So is
the status of its application on the page about monitoring.

On the page, a block with a title is a file, a `sh` block is run unless a comment above it says `not run`, and
the `text` block after it is the output. There `...` alone on a line stands for lines that are left out, and
`…` within a line for what differs from run to run. Spaces do not count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dovetail.service.checkout import checkout_root
from spark.command_line import SOURCE

PAGE = checkout_root() / "docs/index.md"
MONITOR = checkout_root() / "docs/how-to/monitor.md"
BLOCK = re.compile(
    r"^(?P<skip><!-- not run -->\n)?"
    r"```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    text: str
    is_run: bool


def blocks(page: str) -> Iterator[Block]:
    for found in BLOCK.finditer(page):
        yield Block(found["language"], found["title"], found["text"], found["skip"] is None)


def pattern(shown: str) -> re.Pattern[str]:
    """What an output must look like to be the one that is shown."""
    lines = [re.escape(" ".join(line.split())).replace("…", ".*") for line in shown.splitlines()]
    return re.compile("".join(r"(?:.*\n)*?" if line == r"\.\.\." else line + r" *\n" for line in lines))


def squeezed(output: str) -> str:
    return "".join(" ".join(line.split()) + "\n" for line in output.splitlines())


def assert_shown(shown: str, output: str) -> None:
    assert pattern(shown).match(output), f"the page shows\n{shown}\nbut it is\n{output}"


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    index = tmp_path / "index"
    folder = tmp_path / "clicks"
    for made in (index, folder):
        made.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": SOURCE,
        "COLUMNS": "200",
        "DOVETAIL_INDEX_DIR": str(index),
    }
    said = ""
    printed = {}
    for block in blocks(PAGE.read_text()):
        if block.title is not None:
            (folder / block.title).write_text(block.text)
        elif block.language == "sh" and block.is_run:
            command = ["bash", "-euc", block.text]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900
            )
            assert done.returncode == 0, done.stderr
            printed[block.text] = said = squeezed(done.stdout)
        elif block.language == "text":
            assert_shown(block.text, said)
    status = next(block for block in blocks(MONITOR.read_text()) if block.text.startswith("clicks  stopped"))
    assert_shown(status.text, printed["dovetail status clicks\n"])


@pytest.mark.parametrize(
    ("shown", "output", "fits"),
    [
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("took … s\n", "took  12 s\n", True),
        ("a\n", "b\na\n", False),
        ("a (b) 1.5\n", "a (b) 165\n", False),
    ],
)
def test_an_output_is_compared(shown: str, output: str, fits: bool) -> None:
    assert (pattern(shown).match(squeezed(output)) is not None) == fits


def test_blocks_are_found() -> None:
    page = '```python title="a.py"\nx\n```\n\n<!-- not run -->\n```sh\ny\n```\n\n```text\nz\n```\n'
    assert list(blocks(page)) == [
        Block("python", "a.py", "x\n", True),
        Block("sh", None, "y\n", False),
        Block("text", None, "z\n", True),
    ]
