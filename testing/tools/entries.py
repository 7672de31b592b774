"""The tools of the matrix: for each, a tiny project, its packages and the usual command.

To add one, append a `Tool` to `TOOLS` and a line to `docs/tools.md`. `@WORK@` in a file stands for
the amount of work, which the slow commit raises.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tool:
    """A benchmark tool, and a project that uses it as its users do."""

    name: str
    files: dict[str, str]
    # What a user types after `pinpoint bisect GOOD BAD --`.
    command: list[str]
    # The amount of work of a fast commit.
    work: int
    # Programs that must be on the machine, and the names of Debian's packages that have them.
    programs: dict[str, str] = field(default_factory=dict)
    # Files outside of PATH that a package of Debian brings, by its name.
    system: dict[str, str] = field(default_factory=dict)
    # Packages of PyPI, with their versions.
    python: list[str] = field(default_factory=list)
    # Programs of crates.io, each as `NAME@VERSION`, which are compiled.
    cargo: list[str] = field(default_factory=list)
    # The tool's version, or the command that prints it in its first line.
    version: str | list[str] = ""
    # Where set, the reason why the matrix passes without this tool.
    optional: str = ""


# Work that takes the same number of steps on each run, in each language.
RUST_WORK = """
pub fn work() -> u64 {
    let mut x: u64 = std::hint::black_box(1);
    for i in 0..@WORK@u64 {
        x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(i));
    }
    x
}
"""
C_WORK = """
static unsigned long work(void) {
    volatile unsigned long x = 1;
    for (unsigned long i = 0; i < @WORK@ul; i++) x = x * 6364136223846793005ul + i;
    return x;
}
"""
PYTHON_WORK = """
def work():
    x = 1
    for i in range(@WORK@):
        x = (x * 1103515245 + i) & 0xffffffff
    return x
"""
JAVASCRIPT_WORK = """
export function work() {
  let x = 1;
  for (let i = 0; i < @WORK@; i++) x = (Math.imul(x, 1103515245) + i) | 0;
  return x;
}
"""

# Where a project's packages are not in git, the first run of a commit installs them.
NPM = "{ test -d node_modules || npm install --silent --no-audit --no-fund --prefer-offline; }"


def cargo(dependencies: str, bench: str) -> dict[str, str]:
    """The files of a crate with one benchmark."""
    return {
        "Cargo.toml": '[package]\nname = "project"\nversion = "0.1.0"\nedition = "2021"\n\n'
        "[lib]\nbench = false\n\n" + dependencies
        # Each commit compiles them anew, and they are not what is measured.
        + '\n[profile.bench.package."*"]\nopt-level = 0\n',
        "src/lib.rs": RUST_WORK,
        "benches/bench.rs": bench,
        ".gitignore": "/target\nCargo.lock\n",
    }


def node(dependencies: str, name: str, bench: str, script: str) -> dict[str, str]:
    """The files of a package of Node.js with one benchmark."""
    return {
        "package.json": '{"name": "project", "version": "1.0.0", "private": true, "type": "module",\n'
        f' "scripts": {{"bench": "{script}"}},\n "devDependencies": {{{dependencies}}}}}\n',
        "work.js": JAVASCRIPT_WORK,
        name: bench,
        ".gitignore": "node_modules\npackage-lock.json\n",
    }


HARNESS = '\n[[bench]]\nname = "bench"\nharness = false\n'
CARGO = {"cargo": "rustup"}
NODE = {"npm": "npm", "node": "nodejs"}
COMPILER = {"make": "make", "g++": "g++"}

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>project</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.openjdk.jmh</groupId><artifactId>jmh-core</artifactId><version>1.37</version>
    </dependency>
    <dependency>
      <groupId>org.openjdk.jmh</groupId><artifactId>jmh-generator-annprocess</artifactId>
      <version>1.37</version><scope>provided</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId><artifactId>maven-shade-plugin</artifactId>
        <version>3.5.1</version>
        <executions><execution>
          <phase>package</phase><goals><goal>shade</goal></goals>
          <configuration>
            <finalName>benchmarks</finalName>
            <transformers><transformer
              implementation="org.apache.maven.plugins.shade.resource.ManifestResourceTransformer">
              <mainClass>org.openjdk.jmh.Main</mainClass>
            </transformer></transformers>
          </configuration>
        </execution></executions>
      </plugin>
    </plugins>
  </build>
</project>
"""
JMH = """package org.example;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 3, time = 200, timeUnit = TimeUnit.MILLISECONDS)
public class WorkBenchmark {
    @Benchmark
    public long work() {
        long x = 1;
        for (long i = 0; i < @WORK@L; i++) x = x * 6364136223846793005L + i;
        return x;
    }
}
"""

C_MAIN = '#include <stdio.h>\n' + C_WORK + 'int main(void) { printf("sum %lu\\n", work()); }\n'
C_MAKE = "program: program.c\n\t$(CC) -O2 -o $@ $<\n"
C_PROJECT = {
    "program.c": C_MAIN.replace('printf("sum %lu\\n", work())', "return work() == 42"),
    "Makefile": C_MAKE,
    ".gitignore": "program\n",
}
C_PROGRAMS = {"make": "make", "cc": "gcc"}


# A server, and the tool that measures it: nothing but the program under test runs.
SERVER = PYTHON_WORK + """

import http.server
import subprocess
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer in one packet: the second of two waits 40 ms for an acknowledgment of the first.
    wbufsize = -1

    def do_GET(self):
        body = f"{work()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
subprocess.run([*"@COMMAND@".split(), f"http://127.0.0.1:{server.server_port}/"], check=True)
"""


def built(then: str) -> list[str]:
    """A command that brings the program up to date, silently, and then does `then`."""
    return ["sh", "-c", f"make -s && {then}"]


TOOLS = [
    Tool(
        name="hyperfine",
        files=C_PROJECT,
        command=built("hyperfine --runs 5 ./program"),
        work=20_000_000,
        programs={**C_PROGRAMS, "hyperfine": "hyperfine"},
        version=["hyperfine", "--version"],
    ),
    Tool(
        name="go",
        files={
            "go.mod": "module example.org/project\n\ngo 1.20\n",
            "work_test.go": """package project

import "testing"

var sink uint64

func BenchmarkWork(b *testing.B) {
	for n := 0; n < b.N; n++ {
		x := sink | 1
		for i := uint64(0); i < @WORK@; i++ {
			x = x*6364136223846793005 + i
		}
		sink = x
	}
}
""",
        },
        command=["go", "test", "-bench", "."],
        work=20_000,
        programs={"go": "golang-go"},
        version=["go", "version"],
    ),
    Tool(
        name="libtest",
        files=cargo(
            "",
            "#![feature(test)]\nextern crate test;\n\n#[bench]\nfn work(b: &mut test::Bencher) {\n"
            "    b.iter(project::work);\n}\n",
        ),
        # What `cargo +nightly bench` is on a stable toolchain.
        command=["env", "RUSTC_BOOTSTRAP=1", "cargo", "bench"],
        work=20_000,
        programs=CARGO,
        version=["cargo", "--version"],
    ),
    Tool(
        name="criterion",
        files=cargo(
            '[dev-dependencies.criterion]\nversion = "=0.8.2"\ndefault-features = false\n'
            'features = ["cargo_bench_support"]\n' + HARNESS,
            """use criterion::{criterion_group, criterion_main, Criterion};

fn work(c: &mut Criterion) {
    c.bench_function("work", |b| b.iter(project::work));
}
criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = work
}
criterion_main!(benches);
""",
        ),
        command=["cargo", "bench"],
        work=20_000,
        programs=CARGO,
        version="0.8.2",
    ),
    Tool(
        name="divan",
        files=cargo(
            '[dev-dependencies]\ndivan = "=0.1.21"\n' + HARNESS,
            "fn main() {\n    divan::main();\n}\n\n#[divan::bench]\nfn work() -> u64 {\n"
            "    project::work()\n}\n",
        ),
        command=["cargo", "bench"],
        work=20_000,
        programs=CARGO,
        version="0.1.21",
    ),
    Tool(
        name="google-benchmark",
        files={
            "bench.cc": "#include <benchmark/benchmark.h>\n" + C_WORK + """
static void Work(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(work());
}
BENCHMARK(Work);
BENCHMARK_MAIN();
""",
            "Makefile": "bench: bench.cc\n\t$(CXX) -O2 -o $@ $< -lbenchmark -lpthread\n",
            ".gitignore": "bench\n",
        },
        command=built("./bench"),
        work=20_000,
        programs=COMPILER,
        system={"/usr/include/benchmark/benchmark.h": "libbenchmark-dev"},
        version=["dpkg-query", "--show", "libbenchmark-dev"],
    ),
    Tool(
        name="catch2",
        files={
            "bench.cc": "#define CATCH_CONFIG_MAIN\n#define CATCH_CONFIG_ENABLE_BENCHMARKING\n"
            "#include <catch2/catch.hpp>\n" + C_WORK + """
TEST_CASE("speed") {
    BENCHMARK("work") { return work(); };
}
""",
            "Makefile": "bench: bench.cc\n\t$(CXX) -O1 -o $@ $<\n",
            ".gitignore": "bench\n",
        },
        command=built("./bench --benchmark-samples 20"),
        work=20_000,
        programs=COMPILER,
        system={"/usr/include/catch2/catch.hpp": "catch2"},
        version=["dpkg-query", "--show", "catch2"],
    ),
    Tool(
        name="nanobench",
        files={
            "bench.cc": "#define ANKERL_NANOBENCH_IMPLEMENT\n#include <nanobench.h>\n" + C_WORK + """
int main() {
    ankerl::nanobench::Bench().run("work", [] { ankerl::nanobench::doNotOptimizeAway(work()); });
}
""",
            "Makefile": "bench: bench.cc\n\t$(CXX) -O1 -o $@ $<\n",
            ".gitignore": "bench\n",
        },
        command=built("./bench"),
        work=20_000,
        programs=COMPILER,
        system={"/usr/local/include/nanobench.h": ""},
        version="4.6.0",
        optional="it is a header that no registry has; put it into /usr/local/include",
    ),
    Tool(
        name="pytest-benchmark",
        files={
            "work.py": PYTHON_WORK,
            "test_work.py": "from work import work\n\n\ndef test_work(benchmark):\n    benchmark(work)\n",
        },
        command=["python3", "-m", "pytest"],
        work=20_000,
        programs={"python3": "python3"},
        python=["pytest==9.2.0", "pytest-benchmark==5.3.1"],
        version="5.3.1",
    ),
    Tool(
        name="pyperf",
        files={
            "work.py": PYTHON_WORK,
            "bench.py": "import pyperf\n\nfrom work import work\n\n"
            'pyperf.Runner().bench_func("work", work)\n',
        },
        command=["python3", "bench.py", "--fast"],
        work=20_000,
        programs={"python3": "python3"},
        python=["pyperf==2.11.0"],
        version="2.11.0",
    ),
    Tool(
        name="asv",
        files={
            "asv.conf.json": '{"version": 1, "project": "project", "repo": ".", "branches": ["main"],\n'
            ' "benchmark_dir": "benchmarks", "environment_type": "existing"}\n',
            "benchmarks/__init__.py": "",
            "benchmarks/bench.py": PYTHON_WORK + "\n\ndef time_work():\n    work()\n",
            ".gitignore": ".asv\n__pycache__\n",
        },
        command=["sh", "-c", "asv machine --yes >/dev/null && asv run --python=same"],
        work=50_000,
        programs={"python3": "python3"},
        python=["asv==0.6.6"],
        version="0.6.6",
    ),
    Tool(
        name="jmh",
        files={
            "pom.xml": POM,
            "src/main/java/org/example/WorkBenchmark.java": JMH,
            ".gitignore": "target\ndependency-reduced-pom.xml\n",
        },
        command=["sh", "-c", "mvn -q package && java -jar target/benchmarks.jar"],
        work=20_000,
        programs={"mvn": "maven", "javac": "default-jdk"},
        version="1.37",
    ),
    Tool(
        name="vitest",
        files=node(
            '"vitest": "4.1.12"',
            "work.bench.js",
            "import { bench } from 'vitest';\nimport { work } from './work.js';\n\n"
            "bench('work', () => { work(); }, { time: 300 });\n",
            "vitest bench --run",
        ),
        command=["sh", "-c", f"{NPM} && npm run bench"],
        work=100_000,
        programs=NODE,
        version="4.1.12",
    ),
    Tool(
        name="tinybench",
        files=node(
            '"tinybench": "6.2.5"',
            "bench.js",
            "import { Bench } from 'tinybench';\nimport { work } from './work.js';\n\n"
            "const bench = new Bench({ time: 300 });\nbench.add('work', () => { work(); });\n"
            "await bench.run();\nconsole.table(bench.table());\n",
            "node bench.js",
        ),
        command=["sh", "-c", f"{NPM} && npm run bench"],
        work=100_000,
        programs=NODE,
        version="6.2.5",
    ),
    Tool(
        name="mitata",
        files=node(
            '"mitata": "1.0.34"',
            "bench.js",
            "import { bench, run } from 'mitata';\nimport { work } from './work.js';\n\n"
            "bench('work', () => work());\nawait run();\n",
            "node bench.js",
        ),
        command=["sh", "-c", f"{NPM} && npm run bench"],
        work=100_000,
        programs=NODE,
        version="1.0.34",
    ),
    Tool(
        name="benchmark.js",
        files=node(
            '"benchmark": "2.1.4"',
            "bench.js",
            "import Benchmark from 'benchmark';\nimport { work } from './work.js';\n\n"
            "new Benchmark.Suite().add('work', () => { work(); })\n"
            "  .on('cycle', (event) => console.log(String(event.target))).run();\n",
            "node bench.js",
        ),
        command=["sh", "-c", f"{NPM} && npm run bench"],
        work=100_000,
        programs=NODE,
        version="2.1.4",
    ),
    Tool(
        name="benchmark-ips",
        files={
            "bench.rb": """require "benchmark/ips"

def work
  x = 1
  @WORK@.times { |i| x = (x * 1103515245 + i) & 0xffffffff }
  x
end

Benchmark.ips do |b|
  b.config(time: 1, warmup: 1)
  b.report("work") { work }
end
""",
        },
        command=["ruby", "bench.rb"],
        work=20_000,
        programs={"ruby": "ruby"},
        system={"/usr/share/rubygems-integration/all/specifications/benchmark-ips-*": "ruby-benchmark-ips"},
        version=["dpkg-query", "--show", "ruby-benchmark-ips"],
    ),
    Tool(
        name="perf",
        files=C_PROJECT,
        command=built("perf stat ./program"),
        work=50_000_000,
        programs={**C_PROGRAMS, "perf": "linux-perf"},
        version=["perf", "--version"],
    ),
    Tool(
        name="gnu-time",
        files=C_PROJECT,
        command=built("/usr/bin/time -v ./program"),
        work=50_000_000,
        programs={**C_PROGRAMS, "/usr/bin/time": "time"},
        version=["/usr/bin/time", "--version"],
    ),
    Tool(
        name="bash-time",
        files=C_PROJECT,
        command=["bash", "-c", "make -s && time ./program"],
        work=50_000_000,
        programs={**C_PROGRAMS, "bash": "bash"},
        version=["bash", "--version"],
    ),
    Tool(
        name="wrk",
        files={"bench.py": SERVER.replace("@COMMAND@", "wrk --threads 1 --connections 1 --duration 2s")},
        command=["python3", "bench.py"],
        work=20_000,
        programs={"python3": "python3", "wrk": "wrk"},
        version=["dpkg-query", "--show", "wrk"],
    ),
    Tool(
        name="ab",
        files={"bench.py": SERVER.replace("@COMMAND@", "ab -n 100")},
        command=["python3", "bench.py"],
        work=20_000,
        programs={"python3": "python3", "ab": "apache2-utils"},
        version=["ab", "-V"],
    ),
    Tool(
        name="sysbench",
        files={
            "bench.lua": "function event()\n  local x = 1\n"
            "  for i = 1, @WORK@ do x = (x * 1103 + i) % 65536 end\n"
            "  if x < 0 then error(x) end\nend\n",
        },
        command=["sysbench", "bench.lua", "--time=1", "run"],
        work=500_000,
        programs={"sysbench": "sysbench"},
        version=["sysbench", "--version"],
    ),
    Tool(
        name="gungraun",
        files=cargo(
            '[dev-dependencies]\ngungraun = "=0.20.0"\n' + HARNESS,
            """use gungraun::{library_benchmark, library_benchmark_group, main};

#[library_benchmark]
fn work() -> u64 {
    project::work()
}
library_benchmark_group!(name = all; benchmarks = work);
main!(library_benchmark_groups = all);
""",
        ),
        command=["cargo", "bench"],
        work=20_000,
        programs={**CARGO, "valgrind": "valgrind"},
        cargo=["gungraun-runner@0.20.0"],
        version="0.20.0",
    ),
    Tool(
        name="phpbench",
        files={
            "benchmarks/WorkBench.php": """<?php

class WorkBench
{
    /**
     * @Revs(5)
     * @Iterations(3)
     */
    public function benchWork()
    {
        $x = 1;
        for ($i = 0; $i < @WORK@; $i++) $x = ($x * 1103515245 + $i) & 0xffffffff;
        return $x;
    }
}
""",
            "phpbench.json": '{"runner.path": "benchmarks"}\n',
        },
        command=["phpbench", "run"],
        work=200_000,
        programs={"php": "php-cli", "phpbench": ""},
        version=["phpbench", "--version"],
        optional="Packagist has it",
    ),
    Tool(
        name="benchmarkdotnet",
        files={},
        command=["dotnet", "run", "-c", "Release"],
        work=20_000,
        programs={"dotnet": ""},
        optional="it needs .NET and NuGet",
    ),
]
