"""Real projects whose releases become histories, and their build and run commands.

Commands run in a work tree of the project; `{benchmarks}` is the directory next to this file.
"""

import dataclasses
import re
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().with_name("benchmarks")
CARGO_HARNESS = (
    "mkdir -p target/harness/src && cp {benchmarks}/%(package)s.rs target/harness/src/main.rs && "
    "cp {benchmarks}/%(package)s.toml target/harness/Cargo.toml && "
    "cargo %(command)s --quiet --release --offline --manifest-path target/harness/Cargo.toml --target-dir target"
)


@dataclasses.dataclass(frozen=True)
class Project:
    registry: str
    package: str
    versions: str
    # Code that the benchmark may notice: each file is a separate commit where possible.
    sources: str
    # The value of the benchmark that is searched, and the direction in which it is worse.
    chart: str
    benchmark: str
    build: str = ""
    # A quick check that a commit builds; without it, it is built and run.
    check: str = ""
    direction: str = "down"

    def is_source(self, path):
        return re.search(self.sources, path) is not None

    def command(self, text):
        return text.format(benchmarks=BENCHMARKS, python=sys.executable)


PROJECTS = {
    "packaging": Project(
        "pypi", "packaging",
        "16.8 17.0 17.1 18.0 19.0 19.1 19.2 20.0 20.1 20.2 20.3 20.4 20.5 20.7 20.8 20.9 21.0 21.1 21.2 21.3 22.0"
        " 23.0 23.1 23.2 24.0 24.1 24.2 25.0",
        r"^(src/)?packaging/.*\.py$", "parse_specifiers", "{python} {benchmarks}/../bench.py"),
    "sqlparse": Project(
        "pypi", "sqlparse",
        "0.2.0 0.2.1 0.2.2 0.2.3 0.2.4 0.3.0 0.3.1 0.4.0 0.4.1 0.4.2 0.4.3 0.4.4 0.5.0 0.5.1 0.5.2 0.5.3"
        " 0.5.4 0.5.5 0.6.0 0.6.1",
        r"^sqlparse/.*\.py$", "format", "{python} {benchmarks}/sqlparse.py"),
    "libdeflate": Project(
        "crates", "libdeflate-sys",
        "0.6.0 0.7.0 0.7.1 0.7.2 0.7.3 0.7.4 0.7.5 0.8.0 0.9.0 0.10.0 0.11.0 0.12.0 0.13.0 0.14.0 1.19.0 1.19.1 1.19.2"
        " 1.19.3 1.20.0 1.21.0 1.22.0 1.23.0 1.23.1 1.24.0 1.25.0 1.25.1 1.25.2 1.26.0 1.26.1",
        r"^libdeflate/(lib|common)/|^libdeflate/[^/]*\.h$", "level_12", "./bench",
        build="cc -O2 -w -Ilibdeflate -Ilibdeflate/common -o bench {benchmarks}/libdeflate.c libdeflate/lib/deflate_*.c"
        " libdeflate/lib/*utils.c libdeflate/lib/x86/*.c",
        check="cc -fsyntax-only -w -Ilibdeflate -Ilibdeflate/common libdeflate/lib/*.c libdeflate/lib/*/*.c"),
    "pulldown-cmark": Project(
        "crates", "pulldown-cmark",
        "0.2.0 0.3.0 0.4.0 0.4.1 0.5.0 0.5.1 0.5.2 0.5.3 0.6.0 0.6.1 0.7.0 0.7.1 0.7.2 0.8.0 0.9.0 0.9.1 0.9.2 0.9.3"
        " 0.9.6 0.10.0 0.10.2 0.10.3 0.11.0 0.12.0 0.12.1 0.12.2 0.13.0 0.13.1 0.13.2 0.13.3",
        r"^src/.*\.rs$", "to_html", "target/release/harness",
        build=CARGO_HARNESS % {"package": "pulldown-cmark", "command": "build"},
        check=CARGO_HARNESS % {"package": "pulldown-cmark", "command": "check"}),
    "lz4_flex": Project(
        "crates", "lz4_flex",
        "0.5.0 0.5.1 0.6.0 0.6.1 0.7.0 0.7.2 0.7.3 0.7.4 0.7.5 0.8.0 0.8.1 0.8.2 0.9.0 0.9.2 0.9.3 0.9.4 0.9.5 0.10.0"
        " 0.11.6 0.12.1 0.12.2 0.13.0 0.13.1 0.14.0",
        r"^src/.*\.rs$", "compress", "target/release/harness",
        build=CARGO_HARNESS % {"package": "lz4_flex", "command": "build"},
        check=CARGO_HARNESS % {"package": "lz4_flex", "command": "check"}),
}
