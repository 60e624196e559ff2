"""Draw the picture of the landing page from the table of results/documents.md: python docs/landing.py"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from PIL import Image

FOLDER = Path(__file__).parent
TABLE = "| 100 MB |"  # the first line of the table
ONE_THREAD = ", one thread"


def measured() -> dict[str, tuple[float, float]]:
    """The CPU seconds of each program on one thread, and its error in percent."""
    lines = (FOLDER / "results" / "documents.md").read_text().splitlines()
    table = lines[next(number for number, line in enumerate(lines) if line.startswith(TABLE)) :]
    head = [cell.strip() for cell in table[0].strip("|").split("|")]
    rows = {}
    for line in table[2:]:
        if not line:
            break
        cells = dict(zip(head, [cell.strip() for cell in line.strip("|").split("|")], strict=True))
        name = cells[head[0]]
        if name.endswith(ONE_THREAD) and "AROW" not in name:
            rows[name.removesuffix(ONE_THREAD).split(" SCW")[0]] = float(cells["CPU, s"]), float(cells["error, %"])
    return rows


def main() -> None:
    plt.rcParams["font.size"] = 14
    figure, ax = plt.subplots(figsize=(7.4, 4), layout="constrained")
    for name, (seconds, error) in measured().items():
        ours = name == "cwlearn"
        color = "#D55E00" if ours else "#555555"
        ax.plot(seconds, error, "o", color=color, markersize=13 if ours else 9)
        text = f"{name}\n{seconds:.1f} s, {error:.1f} %"
        ax.annotate(
            text, (seconds, error), (10, 0), textcoords="offset points", va="center", color=color,
            weight="bold" if ours else "normal",
        )  # fmt: skip
    ax.set(xscale="log", xlim=(0.6, 40), ylim=(12.5, 15.6), xlabel="seconds of CPU, one thread", ylabel="test error, %")
    ax.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("100 MB of reviews, words and bigrams, one pass", fontsize=14, loc="left")
    picture = BytesIO()
    figure.savefig(picture, dpi=110)
    Image.open(picture).convert("RGB").quantize(64).save(FOLDER / "landing.png", optimize=True)


if __name__ == "__main__":
    main()
