"""The check of links finds those that lead nowhere, and only those."""

from __future__ import annotations

from tests.proof.links import broken

GOOD = """<a href="b/two.html#there">x</a><a href="#here" id="here">x</a><img src="a%20b.png"><a href="https://x.org/no">x</a>"""


def test_links_that_lead_somewhere_pass(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "one.html").write_text(GOOD)
    (tmp_path / "b" / "two.html").write_text('<h1 id="there"></h1><a href="../one.html">x</a>')
    (tmp_path / "a b.png").write_bytes(b"")
    (tmp_path / "_static" / "template.html").write_text('<a href="{{ name }}">x</a>')
    assert broken(tmp_path) == []


def test_a_missing_file_and_a_missing_place_are_named_with_their_page(tmp_path):
    (tmp_path / "one.html").write_text("""<a href="two.html">x</a><a href="#there">x</a><img src="none.png">""")
    assert broken(tmp_path) == ["one.html: two.html", "one.html: #there", "one.html: none.png"]


def test_no_pages_at_all_are_no_success(tmp_path):
    assert broken(tmp_path) == [f"{tmp_path} has no pages"]
