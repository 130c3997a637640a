"""Draws the pictures of the concept pages: `python docs/pictures/draw.py` writes them beside this file.

A picture is a time line of two streams. It is plain SVG with its own background, so that it can be read on a
light page and on a dark one. tests/repo/test_site.py compares the files with what is drawn here.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

HERE = Path(__file__).parent
WIDTH = 760
INK, FAINT, LEFT, RIGHT, WINDOW, GOOD, BAD = (
    "#1f2933", "#9aa5b1", "#3949ab", "#00796b", "#e8eaf6", "#2e7d32", "#c62828",
)  # fmt: skip


class Picture:
    """Shapes on a canvas of `height`; the methods add one shape each."""

    def __init__(self, title: str, height: int) -> None:
        self.height = height
        self.shapes = [
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        ]

    def text(self, x: float, y: float, words: str, color: str = INK, anchor: str = "start") -> None:
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, color: str = INK, dashed: bool = False
    ) -> None:
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        self.shapes.append(f'<line {ends} stroke="{color}" stroke-width="1.5"{dash}/>')

    def box(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{fill}"/>'
        )

    def dot(self, x: float, y: float, color: str, hollow: bool = False) -> None:
        fill = "#ffffff" if hollow else color
        self.shapes.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="6" fill="{fill}" stroke="{color}" stroke-width="2"/>'
        )

    def arrow(self, x1: float, y: float, x2: float, color: str = INK) -> None:
        """A horizontal arrow with its head at `x2`."""
        back = 7 if x2 > x1 else -7
        self.line(x1, y, x2, y, color)
        self.shapes.append(f'<path d="M {x2:g} {y:g} l {-back:g} -4 l 0 8 z" fill="{color}"/>')

    def stream(self, y: float, name: str, color: str) -> None:
        """The time line of a stream, time going to the right."""
        self.text(16, y + 4, name, color)
        self.arrow(110, y, WIDTH - 20, FAINT)

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'font-family="sans-serif" font-size="13">'
        )
        return "\n".join([head, *self.shapes, "</svg>", ""])


def interval_join() -> Picture:
    """One left row, its window on the right stream, and five right rows."""
    picture = Picture("An interval join: the window of a left row on the right stream", 250)
    left, right, at, before, after = 70, 160, 430, 220, 90
    picture.box(at - before, left, before + after, right - left + 22, WINDOW)
    picture.stream(left, "left: clicks", LEFT)
    picture.stream(right, "right: views", RIGHT)
    for x, words in ((at - before, "12:05 - before"), (at + after, "12:05 + after")):
        picture.line(x, left - 18, x, right + 22, FAINT, dashed=True)
        picture.text(x, left - 26, words, INK, "middle")
    picture.text(at, left - 26, "12:05", LEFT, "middle")
    for x in (290, 480):
        picture.line(at, left, x, right, GOOD)
    picture.dot(at, left, LEFT)
    picture.text(at + 12, left - 8, "key 7", LEFT)
    for x, key, inside in ((160, 7, False), (290, 7, True), (375, 8, False), (480, 7, True), (620, 7, False)):
        picture.dot(x, right, RIGHT, hollow=not inside)
        picture.text(x, right + 38, f"key {key}", RIGHT if inside else FAINT, "middle")
    for x, words in (
        (160, "too early"),
        (290, "match"),
        (375, "other key"),
        (480, "match"),
        (620, "too late"),
    ):
        picture.text(x, right + 56, words, GOOD if words == "match" else BAD, "middle")
    picture.text(WIDTH - 20, 240, "event time →", FAINT, "end")
    return picture


def lateness() -> Picture:
    """Rows in the order of arrival against event time: the newest, the stream time, and a late row."""
    picture = Picture("Stream time follows the newest row at a distance of max_delay", 304)
    x0, y0, step, minute = 120, 250, 70, 22
    rows = (2, 4, 3, 6, 5, 8, 3, 9)  # event times in minutes, in the order of arrival
    delay = 3
    picture.line(x0, 30, x0, y0, FAINT)
    picture.arrow(x0, y0, WIDTH - 20, FAINT)
    picture.text(16, 40, "event time", FAINT)
    picture.text(WIDTH - 20, y0 + 42, "order of arrival →", FAINT, "end")
    newest, passed, reached = [], [], 0
    for time in rows:
        passed.append(max(reached - delay, 0))
        reached = max(reached, time)
        newest.append(reached)
    for number in range(len(rows)):
        x = x0 + 30 + number * step
        for values, color, dashed in (
            (newest, FAINT, True),
            ([value - delay for value in newest], LEFT, False),
        ):
            height = y0 - max(values[number], 0) * minute
            picture.line(x, height, x + step, height, color, dashed)
            if number + 1 < len(rows):
                picture.line(
                    x + step, height, x + step, y0 - max(values[number + 1], 0) * minute, color, dashed
                )
    for number, time in enumerate(rows):
        x, y = x0 + 30 + number * step, y0 - time * minute
        late = time < passed[number]
        picture.dot(x, y, BAD if late else RIGHT, hollow=late)
        picture.text(x, y0 + 18, f"12:0{time}", BAD if late else INK, "middle")
        if late:
            picture.text(x + 12, y + 18, "late: stream time is already past 12:03", BAD, "middle")
    last = x0 + 30 + len(rows) * step
    picture.text(last - 4, y0 - newest[-1] * minute - 14, "newest row", INK, "end")
    picture.text(last - 4, y0 - (newest[-1] - delay) * minute - 8, "stream time", LEFT, "end")
    return picture


def pacing() -> Picture:
    """What a join holds of the stream that is ahead, without pacing and with it."""
    picture = Picture("Pacing: the stream that is ahead waits in the log", 330)
    for top, words, held in ((40, 'pacing = "off"', 640), (190, 'pacing = "on"', 330)):
        left, right = top + 30, top + 80
        picture.text(16, top, words)
        picture.stream(left, "left", LEFT)
        picture.stream(right, "right", RIGHT)
        picture.box(210, right - 13, held - 210, 26, "#b2dfdb")
        picture.text((210 + held) / 2, right + 4, "held in memory", RIGHT, "middle")
        if held < 640:
            picture.box(held + 4, right - 13, 640 - held - 4, 26, "#eceff1")
            picture.text((held + 644) / 2, right + 4, "waits in the log", INK, "middle")
        picture.line(260, left - 16, 260, right - 13, LEFT, dashed=True)
        picture.text(266, left - 8, "the left stream is here", LEFT)
        picture.text(640, right + 30, "newest right row", FAINT, "end")
    picture.text(WIDTH - 20, 320, "event time →", FAINT, "end")
    return picture


def windows() -> Picture:
    """The same rows of one key in tumbling, hopping and session windows."""
    picture = Picture("Tumbling, hopping and session windows over the same rows", 300)
    second, x0 = 20, 140
    rows = (2, 5, 9, 13, 21, 22)  # seconds
    shades = ("#c5cae9", "#e8eaf6")
    sessions = ((rows[0], rows[3] + 5), (rows[4], rows[5] + 5))  # the gap is five seconds
    kinds = (
        ("tumbling", "10 s", 60, [(start, start + 10, 0) for start in (0, 10, 20)]),
        (
            "hopping",
            "10 s, every 5 s",
            140,
            [(start, start + 10, start // 5 % 2) for start in (0, 5, 10, 15, 20)],
        ),
        ("session", "gap 5 s", 240, [(start, end, 0) for start, end in sessions]),
    )
    for name, length, y, spans in kinds:
        picture.text(16, y - 4, name, LEFT)
        picture.text(16, y + 13, length, FAINT)
        for number, (start, end, level) in enumerate(spans):
            top = y - 16 + 18 * level
            x, width = x0 + start * second, (end - start) * second - 3
            picture.box(x, top, width, 14 if name == "hopping" else 32, shades[number % 2])
        picture.arrow(x0, y + (26 if name == "hopping" else 0), WIDTH - 20, FAINT)
        for time in rows:
            picture.dot(x0 + time * second, y + (26 if name == "hopping" else 0), RIGHT)
    for seconds in (0, 5, 10, 15, 20, 25):
        picture.text(x0 + seconds * second, 285, f":{seconds:02}", FAINT, "middle")
    picture.text(WIDTH - 20, 285, "event time →", FAINT, "end")
    return picture


PICTURES = {
    "interval-join.svg": interval_join,
    "lateness.svg": lateness,
    "pacing.svg": pacing,
    "windows.svg": windows,
}


def main() -> None:
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
