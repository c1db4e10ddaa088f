"""Checks of output paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.storage.output_paths import check_output_path, check_page_path, resolve_output_path


def test_a_file_may_appear_during_the_check(tmp_path, monkeypatch):
    """Another writer finishes right after the first `stat`, which found no file."""
    path, original_stat = tmp_path / "file", os.stat

    def racing_stat(file, *arguments, **options):
        try:
            return original_stat(file, *arguments, **options)
        finally:
            if file == path:
                monkeypatch.setattr(os, "stat", original_stat)
                path.write_text("theirs")

    monkeypatch.setattr(os, "stat", racing_stat)
    assert resolve_output_path(path) == path
    assert path.read_text() == "theirs"


def test_no_file_is_named_like_standard_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AdmiralError, match="a file is needed here"):
        check_output_path(Path("-"))
    check_output_path(tmp_path / "-")


@pytest.mark.parametrize("content", ["", "<!DOCTYPE html>\n<html>", "<!doctype html>"])
def test_a_page_may_be_replaced(tmp_path, content):
    (tmp_path / "page.html").write_text(content)
    check_page_path(tmp_path / "page.html")
    check_page_path(tmp_path / "new.html")


@pytest.mark.parametrize("content", ['{"title": "A", "text": "B."}', "<html>", "<", "\0"])
def test_other_files_are_not_replaced_by_a_page(tmp_path, content):
    (tmp_path / "corpus.jsonl").write_text(content)
    with pytest.raises(AdmiralError, match="exists and is not an HTML page"):
        check_page_path(tmp_path / "corpus.jsonl")
