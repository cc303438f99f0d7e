"""A library as its authors published it: three tasks land on it, proven by its own tests."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.scenarios.programs import (
    assert_nothing_left,
    assert_proven,
    bash,
    calls,
    commit,
    crewyard,
    git,
    make_script,
    submit,
    worker,
    write,
)

pytestmark = pytest.mark.slow

LIBRARY, NEEDED = "python-slugify==4.0.1", "text-unidecode==1.3"
CHECK = f"{sys.executable} -m unittest test.py"
OWN_TESTS = 46
"""How many tests the library came with."""

PASSED_ON = """\
import unittest

from slugify.__main__ import parse_args, slugify_params


class TestPattern(unittest.TestCase):
    def test_pattern_reaches_slugify(self):
        params = slugify_params(parse_args(["slugify", "--regex-pattern", "[^-a-z]+", "a1"]))

        self.assertEqual(params["regex_pattern"], "[^-a-z]+")
"""
IS_SLUG = """\
from .slugify import slugify

__all__ = ["is_slug"]


def is_slug(text):
    \"\"\"Returns whether slugify would leave the text as it is.\"\"\"
    return bool(text) and slugify(text) == text
"""
EXPORTED = """\
import unittest

from slugify import is_slug


class TestIsSlug(unittest.TestCase):
    def test_slug_is_one_and_words_are_none(self):
        self.assertTrue(is_slug("a-slug"))
        self.assertFalse(is_slug("No slug"))
"""


def test_three_tasks_land_on_a_published_library(tmp_path: Path) -> None:
    repository = fetched_library(tmp_path)
    spec = make_script(
        tmp_path,
        [
            worker(
                "pass the pattern on",
                calls(
                    {
                        "edit_file": {
                            "path": "slugify/__main__.py",
                            "old_text": "        stopwords=args.stopwords,\n",
                            "new_text": "        stopwords=args.stopwords,\n"
                            "        regex_pattern=args.regex_pattern,\n",
                        }
                    },
                    write("test_pattern.py", PASSED_ON),
                    bash(f"{CHECK} test_pattern.py"),
                    commit("the command line passes its pattern on"),
                ),
                calls(submit("--regex-pattern reaches slugify"), expect=r"Ran 47 tests(?s:.*)OK"),
            ),
            worker(
                "tell slugs from words",
                calls(write("slugify/telling.py", IS_SLUG), commit("slugs are told from words")),
                calls(submit("is_slug is in slugify.telling")),
            ),
            worker(
                "export it",
                calls(
                    {
                        "edit_file": {
                            "path": "slugify/__init__.py",
                            "old_text": "from .slugify import *\n",
                            "new_text": "from .slugify import *\nfrom .telling import *\n",
                        }
                    },
                    write("test_telling.py", EXPORTED),
                    commit("is_slug is exported"),
                ),
                calls(submit("slugify exports is_slug")),
            ),
        ],
    )
    for name, *options in (
        ("pass the pattern on", "--check", f"{CHECK} test_pattern.py"),
        ("tell slugs from words", "--writes", "slugify/telling.py"),
        ("export it", "--after", "2", "--check", f"{CHECK} test_telling.py"),
    ):
        assert crewyard("task", "add", name, *options, cwd=repository).code == 0

    ended = crewyard(
        *("work", "--workers", "2", "--json", "--check", CHECK, "--model", spec), cwd=repository
    )

    assert ended.code == 0, ended
    report = ended.document
    assert len(report["landed"]) == 3
    assert_proven(repository, report)
    assert_nothing_left(repository)
    tests = subprocess.run(
        [sys.executable, "-m", "unittest", "test.py", "test_pattern.py", "test_telling.py"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"Ran {OWN_TESTS + 2} tests" in tests.stderr
    assert tests.returncode == 0


def fetched_library(folder: Path) -> Path:
    """Returns a repository of the library's source distribution, beside it what it needs."""
    archive = fetch(folder, LIBRARY, "--no-binary", ":all:", "--no-build-isolation")
    subprocess.run(["tar", "--no-same-owner", "-xf", archive, "-C", folder], check=True, timeout=60)
    repository = folder / archive.name.removesuffix(".tar.gz")
    with zipfile.ZipFile(fetch(folder, NEEDED, "--only-binary", ":all:")) as wheel:
        wheel.extractall(repository, [n for n in wheel.namelist() if "dist-info" not in n])
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "as published")
    return repository


def fetch(folder: Path, package: str, *options: str) -> Path:
    """Returns the file of a package, loaded from the package index."""
    place = folder / f"fetched-{package.partition('=')[0]}"
    asked = ["download", "--quiet", "--no-deps", *options, "--dest", str(place), package]
    done = subprocess.run(
        [*pip(), *asked], cwd=folder, capture_output=True, text=True, timeout=100, check=False
    )
    if done.returncode:
        pytest.skip(f"needs the package index: {done.stderr.strip()[-200:]}")
    (archive,) = place.iterdir()
    return archive


def pip() -> list[str]:
    """Returns the command of a pip; an environment made by uv holds none."""
    own = [sys.executable, "-m", "pip"]
    is_there = subprocess.run([*own, "--version"], capture_output=True, timeout=60, check=False)
    if is_there.returncode == 0:
        return own
    if shutil.which("uv"):
        return ["uv", "tool", "run", "--with", "setuptools", "pip"]
    pytest.skip("needs pip or uv")
