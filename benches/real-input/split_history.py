#!/usr/bin/env python3
"""Make a git history of about 200 commits out of the releases of a real project.

Each release becomes several commits: one for the documents of a directory, one for its
tests, for CI, for build files, and one for each file of code with which the project still
builds; files that build only together are one commit. Each release ends in a commit that is
exactly the release, with the tag vVERSION. Nothing is changed by hand.

It takes minutes, since each commit of code is built. pip and cargo fetch the releases.
"""

import argparse
import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from make_history import FIRST_DATE, IDENTITY, RecipeError, default_cache, git
from projects import PROJECTS

# Made by packers, not by the project's authors.
PACKED = re.compile(r"(^|/)(PKG-INFO|\.cargo_vcs_info\.json|Cargo\.toml\.orig|[^/]*\.egg-info|\.pytest_cache)(/|$)")
DOCUMENT = re.compile(r"(^|/)docs?/|\.(md|rst|txt|1)$|(^|/)[A-Z]+$")
CI = re.compile(r"(^|/)(\.[^/]+|tox\.ini|noxfile\.py)(/|$)")
TEST = re.compile(r"(^|/)(tests?|benches|examples|programs|scripts|cctest)/")


def fetch(project, version, cache):
    """The archive of one release, fetched by pip or cargo unless it is in the cache."""
    kept = cache / f"{project.package}-{version}.tar.gz"
    if kept.exists():
        return kept
    print(f"fetching {project.package} {version}", file=sys.stderr)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as download:
        if project.registry == "pypi":
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--no-binary", ":all:", "--dest", download, f"{project.package}=={version}"], check=True)
            (found,) = Path(download).iterdir()
            found.replace(kept)
        else:
            manifest = f'[package]\nname = "fetch"\nedition = "2021"\n[dependencies]\n{project.package} = "={version}"\n'
            (Path(download) / "src").mkdir()
            (Path(download) / "src/lib.rs").touch()
            (Path(download) / "Cargo.toml").write_text(manifest)
            subprocess.run(["cargo", "fetch", "--quiet"], cwd=download, check=True)
            home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
            (found,) = home.glob(f"registry/cache/*/{project.package}-{version}.crate")
            shutil.copy(found, kept)
    return kept


def files(archive):
    """The files of a release by path, without those that packers make: content and mode."""
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, path = member.name.partition("/")
            if member.isfile() and not PACKED.search(path):
                found[path] = (tar.extractfile(member).read(), member.mode & 0o111)
    return found


def write(tree, path, content):
    """Sets one file of the work tree to its state in a release; None removes it."""
    place = tree / path
    if content is None:
        place.unlink(missing_ok=True)
        for parent in place.relative_to(tree).parents:
            if parent != Path(".") and (tree / parent).is_dir() and not any((tree / parent).iterdir()):
                (tree / parent).rmdir()
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content[0])
        place.chmod(0o755 if content[1] else 0o644)


def kind(path):
    """The commit of a release to which a non-code file belongs."""
    for name, pattern in (("CI", CI), ("tests", TEST), ("documents", DOCUMENT)):
        if pattern.search(path):
            return f"{name}: {Path(path).parent}"
    return f"build: {Path(path).parent}"


class Builder:
    """Makes the commits of one project in its work tree."""

    def __init__(self, project, tree, is_split):
        self.project, self.tree, self.is_split, self.commits = project, tree, is_split, 0
        git(["init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main", tree])

    def builds(self):
        check = self.project.check or f"{self.project.build or ':'} && {self.project.benchmark}"
        done = subprocess.run(self.project.command(check), shell=True, cwd=self.tree, capture_output=True)
        return done.returncode == 0

    def commit(self, message, paths):
        git(["-C", self.tree, "add", "--all", "--force", "--", *paths])
        date = f"{int(FIRST_DATE.timestamp()) + 3600 * self.commits} +0000"
        name, _, mail = IDENTITY.rstrip(">").partition(" <")
        identity = ["-c", f"user.name={name}", "-c", f"user.email={mail}"]
        git(["-C", self.tree, *identity, "commit", "--quiet", "--message", message], date=date)
        self.commits += 1

    def change(self, paths, release):
        for path in paths:
            write(self.tree, path, release.get(path))

    def release(self, version, before, after):
        """The commits from one release to the next, in an order drawn by the version."""
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        groups = {}
        for path in changed:
            key = path if self.project.is_source(path) else kind(path)
            groups.setdefault(key, []).append(path)
        order = random.Random(version).sample(sorted(groups), len(groups))
        together = []
        is_split = before and self.is_split
        for key in order if is_split else []:
            code_or_build = key.startswith("build: ") or self.project.is_source(key)
            self.change(groups[key], after)
            if code_or_build and not self.builds():
                self.change(groups[key], before)
                together += groups[key]
            else:
                self.commit(f"{version}, {key}", groups[key])
        rest = together if is_split else changed
        if rest:
            self.change(rest, after)
            self.commit(f"{version}, {len(rest)} files", rest)
        git(["-C", self.tree, "tag", f"v{version}"])


def make(project, output, cache, is_split):
    if os.path.lexists(output):
        raise RecipeError(f"{output} exists; name a directory that does not, or remove it first")
    releases = [(version, files(fetch(project, version, cache))) for version in project.versions.split()]
    output.parent.mkdir(parents=True, exist_ok=True)
    builder, before = Builder(project, output, is_split), {}
    for version, after in releases:
        builder.release(version, before, after)
        print(f"{project.package} {version}: {builder.commits} commits", file=sys.stderr)
        before = after
    git(["-C", output, "clean", "--quiet", "--force", "-dx"])
    return builder.commits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", choices=PROJECTS)
    parser.add_argument("output", type=Path, help="directory of the new repository; must not exist yet")
    parser.add_argument("--cache", type=Path, default=default_cache(),
                        help="where fetched releases are kept (default: %(default)s)")
    parser.add_argument("--last", metavar="VERSION", help="end with this release (default: the last known one)")
    parser.add_argument("--whole", action="store_true", help="make each release one commit")
    arguments = parser.parse_args()
    project = PROJECTS[arguments.project]
    if arguments.last is not None:
        known = project.versions.split()
        if arguments.last not in known:
            raise RecipeError(f"there is no release {arguments.last}; there are {', '.join(known)}")
        project = dataclasses.replace(project, versions=" ".join(known[: known.index(arguments.last) + 1]))
    commits = make(project, arguments.output.absolute(), arguments.cache.absolute(), not arguments.whole)
    print(f"{arguments.output}: {commits} commits of {arguments.project}")


if __name__ == "__main__":
    try:
        main()
    except (RecipeError, OSError) as error:
        sys.exit(f"split_history.py: {error}")
