"""The files of a category, whatever its home is on: to look at them, and to change them behind its back."""

from __future__ import annotations

from fnmatch import fnmatch

from dovetail.changes.leftovers import delete_folder
from dovetail.log.category import Category


def names(category: Category, part: str) -> list[str]:
    return sorted(category.store.names(f"{category.folder}/{part}"))


def matching(category: Category, pattern: str) -> list[str]:
    """Paths below the category, such as `commits/*1.json`."""
    part, _, name = pattern.rpartition("/")
    return [f"{part}/{one}".lstrip("/") for one in names(category, part) if fnmatch(one, name)]


def content(category: Category, path: str) -> bytes:
    return category.store.read(f"{category.folder}/{path}")


def change(category: Category, path: str, data: bytes) -> None:
    category.store.replace(f"{category.folder}/{path}", data)


def remove(category: Category, path: str) -> None:
    category.store.delete(f"{category.folder}/{path}")


def everything(category: Category) -> list[str]:
    """All files of the category."""
    parts = category.store.folders(category.folder)
    return category.store.names(category.folder) + [name for part in parts for name in names(category, part)]


def begin(category: Category, application: str) -> None:
    """An application is in the home."""
    category.store.make_folder(f"apps/{application}")
    category.store.replace(f"apps/{application}/application.json", b"{}")


def end(category: Category, application: str) -> None:
    """It is no longer there."""
    delete_folder(category.store, f"apps/{application}")
    category.store.remove_folder(f"apps/{application}")
