"""Open every page of the documentation in headless Chromium: `python -m tests.proof.pages build/docs`.

Each page is shown in frames of 1200 and 390 px, in light and dark.  Console messages, pages that are wider than their
frame and links to files that are not there are printed, and make the command fail.
"""

from __future__ import annotations

import functools
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

WIDTHS = (1200, 390)
THEMES_OWN = "[PST]: "  # the theme tells on the console which colours it took
DARK = "--blink-settings=preferredColorScheme=0"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0"]
# a window cannot be as narrow as a phone, but a frame can
HARNESS = """<!DOCTYPE html><link rel="icon" href="data:,"><pre id="found"></pre><script>
const pages = PAGES, found = [];
async function look(page, width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
  const loaded = new Promise(done => frame.onload = done);
  frame.src = page;
  document.body.append(frame);
  await loaded;
  const wide = frame.contentDocument.documentElement.scrollWidth;
  if (wide > width) found.push(`${page}: ${wide} px wide in ${width}`);
  frame.remove();
}
onload = async () => {
  for (const page of pages) for (const width of WIDTHS) await look(page, width);
  document.getElementById("found").textContent = found.join("\\n");
  document.title = "looked at all";
};
</script><body>"""


class _Quiet(SimpleHTTPRequestHandler):
    """Serves the pages, and the harness beside them."""

    harness = b""

    def do_GET(self) -> None:
        if self.path != "/harness":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.harness)
        return None

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def broken_links(folder: Path, page: str) -> list[str]:
    """Links of a page to files or places in pages that are not there."""
    path, broken = folder / page, []
    for link in re.findall(r'(?:href|src)="([^"]*)"', path.read_text(encoding="utf-8")):
        address, place = urldefrag(html.unescape(link))
        if urlsplit(address).scheme or address.startswith("//"):
            continue
        target = path.parent / unquote(urlsplit(address).path) if address else path
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            broken.append(f"{page}: no file {link}")
        elif place and target.suffix == ".html" and f'id="{unquote(place)}"' not in target.read_text(encoding="utf-8"):
            broken.append(f"{page}: no place {link}")
    return broken


def looked_at(folder: Path, pages: list[str], flags: list[str]) -> list[str]:
    """What a browser finds on all pages, in all widths."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("needs chromium")
    harness = HARNESS.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    handler = type("_Handler", (_Quiet,), {"harness": harness.encode()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        address = f"http://127.0.0.1:{server.server_port}/harness"
        command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}", "--virtual-time-budget=600000", "--dump-dom"]
        shown = subprocess.run([*command, address], capture_output=True, text=True, timeout=500, check=True)
    server.shutdown()
    found = [line for line in shown.stderr.splitlines() if "CONSOLE" in line and THEMES_OWN not in line]
    if "looked at all" not in shown.stdout:
        found.append("the browser did not come to the end of the pages")
    listed = re.search(r'<pre id="found">(.*?)</pre>', shown.stdout, re.DOTALL)
    return found + (html.unescape(listed[1]).splitlines() if listed else [])


def main() -> int:
    folder = Path(sys.argv[1])
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html") if "_static" not in path.parts)
    found = [flaw for page in pages for flaw in broken_links(folder, page)]
    for name, flags in (("light", []), ("dark", [DARK])):
        found += [f"{name}: {flaw}" for flaw in looked_at(folder, pages, flags)]
    print("\n".join(found))
    print(f"{len(pages)} pages, {len(found)} flaws")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
