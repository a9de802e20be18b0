"""Links between the pages lead somewhere."""

import re
from pathlib import Path

from house import SRC

ROOT = SRC.parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").glob("*.md"),
    *SRC.rglob("*.md"),
]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def test_links_lead_somewhere() -> None:
    broken = [f"{page.relative_to(ROOT)}: {link}" for page in PAGES for link in broken_links(page)]
    assert not broken, "\n".join(broken)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#part) [b](gone.md) ![c](gone.png) [d](https://example.org) [e](#here)")
    assert broken_links(page) == ["gone.md", "gone.png"]


def broken_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
