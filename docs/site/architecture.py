"""Puts ARCHITECTURE.md, which is in the root of the repository, on the site as `architecture.md`.

Links work on the repository page as they are written. Here a page's link to `../ARCHITECTURE.md` becomes one
to the page on the site, and a link from there into `docs/` loses that folder. MkDocs calls the functions.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGE = "architecture.md"
TO_IT = re.compile(r"\]\(((?:\.\./)*)\.\./ARCHITECTURE\.md")
FROM_IT = re.compile(r"\]\(docs/")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    source = Path(config.config_file_path).parent / "ARCHITECTURE.md"
    text = FROM_IT.sub("](", source.read_text(encoding="utf-8"))
    files.append(File.generated(config, PAGE, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return TO_IT.sub(rf"](\1{PAGE}", markdown)
