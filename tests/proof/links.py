"""Check that every link within the pages of the documentation leads somewhere: `python -m tests.proof.links FOLDER`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it that links may name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def broken(folder: Path) -> list[str]:
    """The links to no file, or to no place in it, with the pages that have them."""
    folder = folder.resolve()
    paths = [path for path in sorted(folder.rglob("*.html")) if path.relative_to(folder).parts[0] != "_static"]
    pages = {path: Page(path) for path in paths}  # (in _static the theme keeps templates)
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue  # another site
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or (target in pages and unquote(parts.fragment) not in pages[target].places):
                found.append(f"{path.relative_to(folder)}: {link}")
    if not pages:
        found.append(f"{folder} has no pages")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(broken(Path(sys.argv[1]))) or 0)
