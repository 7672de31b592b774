//! The suspicion of a commit by the files that it touches, before anything is run.
//!
//! | of the files, the most suspicious is | weight |
//! | --- | --- |
//! | a manifest, a lock file, a submodule or a build script | 2 |
//! | code, or any other file | the square root of the number of such files, 4 at most |
//! | a test or an example | 1/5 |
//! | a document, or housekeeping such as the configuration of a CI service | 1/10 |
//!
//! A commit that touches files of several kinds has the largest of their weights. The weights are
//! moderate, since a path says little: a benchmark may run a test, or read a document.
//! `docs/adaptive.md` explains their choice, and the cost of a wrong one.

/// The purpose of a file, as far as its path shows it, the most suspicious kind last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// For people: documentation of the program, and its license.
    Document,
    /// For the project's services and editors: CI, linters, git itself.
    Housekeeping,
    /// A test with its data, or an example.
    Test,
    /// The program, and all other files.
    Code,
    /// The build and its inputs: manifests, lock files, submodules, build scripts.
    Build,
}

/// The largest weight of code, from 16 files on.
const MOST_OF_CODE: f64 = 4.0;

const DOCUMENTS: [&str; 3] = ["doc", "docs", "documentation"];
const TESTS: [&str; 10] = [
    "test",
    "tests",
    "__tests__",
    "testdata",
    "fixtures",
    "example",
    "examples",
    "demo",
    "demos",
    "samples",
];
const HOUSEKEEPING: [&str; 7] = [
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".husky",
    ".idea",
    ".vscode",
];

const HOUSEKEEPING_FILES: [&str; 26] = [
    ".codecov.yml",
    ".coveragerc",
    ".editorconfig",
    ".flake8",
    ".git-blame-ignore-revs",
    ".gitattributes",
    ".gitignore",
    ".gitlab-ci.yml",
    ".mailmap",
    ".pre-commit-config.yaml",
    ".readthedocs.yaml",
    ".readthedocs.yml",
    ".travis.yml",
    ".clang-format",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "clippy.toml",
    "codecov.yml",
    "codeowners",
    "deny.toml",
    "jenkinsfile",
    "renovate.json",
    "rustfmt.toml",
    ".rustfmt.toml",
    ".typos.toml",
];

const BUILD_FILES: [&str; 43] = [
    ".gitmodules",
    "build",
    "build.rs",
    "build.xml",
    "cargo.lock",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "composer.lock",
    "configure",
    "configure.ac",
    "deps",
    "dockerfile",
    "environment.yml",
    "flake.lock",
    "flake.nix",
    "gemfile",
    "gemfile.lock",
    "gnumakefile",
    "go.mod",
    "go.sum",
    "go.work",
    "gradle.properties",
    "makefile",
    "meson.build",
    "package-lock.json",
    "package.json",
    "pdm.lock",
    "pipfile",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pom.xml",
    "pyproject.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "vcpkg.json",
    "workspace",
    "yarn.lock",
    "conanfile.py",
];
const BUILD_EXTENSIONS: [&str; 12] = [
    "am", "bazel", "bzl", "cabal", "cmake", "csproj", "gemspec", "gn", "gni", "gradle", "kts", "mk",
];

const DOCUMENT_EXTENSIONS: [&str; 6] = ["adoc", "asciidoc", "markdown", "md", "rdoc", "rst"];
/// The beginnings of names of documents without an extension, or with `txt`.
const DOCUMENT_FILES: [&str; 13] = [
    "authors",
    "changelog",
    "changes",
    "contributing",
    "contributors",
    "copying",
    "history",
    "licence",
    "license",
    "maintainers",
    "news",
    "notice",
    "readme",
];

/// The ends of names of tests, in projects that keep them next to the code.
const TEST_ENDS: [&str; 17] = [
    ".snap",
    ".spec.js",
    ".spec.ts",
    ".spec.tsx",
    ".test.js",
    ".test.jsx",
    ".test.ts",
    ".test.tsx",
    "_spec.rb",
    "_test.cc",
    "_test.cpp",
    "_test.go",
    "_test.py",
    "_unittest.cc",
    "Test.java",
    "Tests.cs",
    "conftest.py",
];

impl FileKind {
    /// The kind of a file by its path from the top of the repository.
    ///
    /// A directory says more than a name: `docs/conf.py` is a document. Everything in a directory
    /// of benchmarks is code, wherever that is: it is measured.
    ///
    /// ```
    /// use pinpoint_core::suspicion::FileKind;
    ///
    /// assert_eq!(FileKind::of("src/test_utils.rs"), FileKind::Code);
    /// assert_eq!(FileKind::of("pkg/list_test.go"), FileKind::Test);
    /// assert_eq!(FileKind::of("go.sum"), FileKind::Build);
    /// ```
    pub fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let is_within = |names: &[&str]| directories.split('/').any(|it| names.contains(&it));
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (name, ""),
        };
        let is_text = DOCUMENT_EXTENSIONS.contains(&extension);
        let is_build = BUILD_FILES.contains(&name)
            || BUILD_EXTENSIONS.contains(&extension)
            || (name.starts_with("requirements") && extension == "txt");
        if is_within(&HOUSEKEEPING) || HOUSEKEEPING_FILES.contains(&name) {
            Self::Housekeeping
        } else if is_within(&DOCUMENTS)
            || ((is_text || ["", "txt"].contains(&extension)) && is_known_document(stem))
        {
            Self::Document
        } else if (directories.split('/')).any(|it| it == "perf" || it.starts_with("bench")) {
            if is_build { Self::Build } else { Self::Code }
        } else if is_within(&TESTS) || directories.split('/').next() == Some("spec") {
            Self::Test
        } else if is_build {
            Self::Build
        } else if is_text {
            Self::Document
        } else if TEST_ENDS.iter().any(|end| path.ends_with(end))
            || (name.starts_with("test_") && extension == "py")
        {
            Self::Test
        } else {
            Self::Code
        }
    }

    /// The weight of a commit that touches this many files of the kind, and at least one.
    fn weight(self, files: u32) -> f64 {
        match self {
            Self::Document | Self::Housekeeping => 0.1,
            Self::Test => 0.2,
            // Short in a stored spec.
            Self::Code => ((f64::from(files).sqrt() * 10.0).round() / 10.0).min(MOST_OF_CODE),
            Self::Build => 2.0,
        }
    }
}

/// Returns true for `license` and `license-mit`, but not for `licensed`.
fn is_known_document(stem: &str) -> bool {
    (DOCUMENT_FILES.iter())
        .filter_map(|known| stem.strip_prefix(known))
        .any(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
}

/// The files that a commit touches, counted by kind.
///
/// ```
/// use pinpoint_core::suspicion::{FileKind, Touched};
///
/// let touched: Touched = ["README.md", "src/lib.rs", "src/list.rs", "tests/list.rs"]
///     .map(FileKind::of)
///     .into_iter()
///     .collect();
/// assert_eq!(touched.kind(), Some(FileKind::Code));
/// assert_eq!(touched.weight(), 1.4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    code: u32,
    most: Option<FileKind>,
}

impl Touched {
    /// Counts a file.
    pub fn add(&mut self, kind: FileKind) {
        self.code = self.code.saturating_add(u32::from(kind == FileKind::Code));
        self.most = self.most.max(Some(kind));
    }

    /// The most suspicious kind of file; absent when the commit touches none.
    pub fn kind(&self) -> Option<FileKind> {
        self.most
    }

    /// The suspicion of the commit, relative to that of others; never 0.
    pub fn weight(&self) -> f64 {
        let most = self.most.unwrap_or(FileKind::Document).weight(self.code);
        match self.code {
            0 => most,
            files => most.max(FileKind::Code.weight(files)),
        }
    }
}

impl FromIterator<FileKind> for Touched {
    fn from_iter<T: IntoIterator<Item = FileKind>>(kinds: T) -> Self {
        let mut touched = Self::default();
        kinds.into_iter().for_each(|kind| touched.add(kind));
        touched
    }
}

/// The weights of commits for [`BisectionSpec::priors`](crate::BisectionSpec::priors);
/// absent when all are alike.
pub fn priors(commits: &[Touched]) -> Option<Vec<f64>> {
    let weights: Vec<f64> = commits.iter().map(Touched::weight).collect();
    (weights.windows(2).any(|two| two[0] != two[1])).then_some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn all(kind: FileKind, paths: &[&str]) {
        for path in paths {
            assert_eq!(FileKind::of(path), kind, "{path}");
        }
    }

    #[test]
    fn documents() {
        all(
            FileKind::Document,
            &[
                "README.md",
                "README",
                "CHANGES.txt",
                "LICENSE-APACHE",
                "src/list/README.rst",
                "docs/conf.py",
                "docs/requirements.txt",
                "docs/benchmarks/list.md",
                "benches/README.md",
                "changes/12.rst",
                "Documentation/Makefile",
                "lib/doc/images/plan.svg",
            ],
        );
    }

    #[test]
    fn housekeeping() {
        all(
            FileKind::Housekeeping,
            &[
                ".github/workflows/ci.yml",
                ".github/actions/build/action.js",
                "packages/a/.vscode/settings.json",
                ".gitlab-ci.yml",
                "Jenkinsfile",
                ".gitignore",
                "vendor/.gitattributes",
                ".github/CONTRIBUTING.md",
            ],
        );
    }

    #[test]
    fn tests_and_examples() {
        all(
            FileKind::Test,
            &[
                "tests/list.rs",
                "tests/CMakeLists.txt",
                "src/test/java/org/ListTest.java",
                "src/main/ListTest.java",
                "pkg/list_test.go",
                "pkg/testdata/words.txt",
                "app/list.spec.ts",
                "app/__tests__/list.js",
                "python/test_list.py",
                "python/conftest.py",
                "spec/list_spec.rb",
                "examples/embed.rs",
                "examples/embed/Cargo.toml",
                "base/list_unittest.cc",
            ],
        );
    }

    #[test]
    fn code_and_all_that_is_not_known() {
        all(
            FileKind::Code,
            &[
                "src/lib.rs",
                "src/test_utils.rs",
                "src/testing/list.go",
                "src/spec/mod.rs",
                "src/doc.rs",
                "src/history.c",
                "src/changes.rs",
                "lib/licensed.txt",
                "data/words.txt",
                "config.json",
                "value",
                "contest.cc",
                "Contest.java",
                // The measured code.
                "benches/list.rs",
                "bench/data/long.md",
                "tests/benchmarks/list.py",
                "test/perf/list.sh",
                // It may build the measured program.
                "src/ci/pgo.sh",
                ".ci/run",
                "",
                "/",
                ".",
                "a\nb/ü",
            ],
        );
    }

    #[test]
    fn builds_and_dependencies() {
        all(
            FileKind::Build,
            &[
                "Cargo.toml",
                "crates/a/Cargo.toml",
                "Cargo.lock",
                "build.rs",
                "DEPS",
                "go.sum",
                "third_party/BUILD",
                "third_party/BUILD.gn",
                "requirements.txt",
                "requirements-dev.txt",
                "CMakeLists.txt",
                "cmake/flags.cmake",
                "benches/Cargo.toml",
                "rust-toolchain.toml",
                "app/build.gradle.kts",
                ".gitmodules",
                "setup.py",
            ],
        );
    }

    #[test]
    fn the_most_suspicious_file_counts() {
        use FileKind::{Build, Code, Document, Housekeeping, Test};
        let weight = |kinds: &[FileKind]| kinds.iter().copied().collect::<Touched>().weight();
        assert_eq!(weight(&[]), 0.1);
        assert_eq!(weight(&[Document, Housekeeping, Document]), 0.1);
        assert_eq!(weight(&[Document, Test]), 0.2);
        assert_eq!(weight(&[Test, Code, Document]), 1.0);
        assert_eq!(weight(&[Code; 9]), 3.0);
        assert_eq!(weight(&[Code; 100]), 4.0);
        assert_eq!(weight(&[Build, Code]), 2.0);
        assert_eq!(weight(&[Build; 100]), 2.0);
        let many: Vec<FileKind> = [Build].into_iter().chain([Code; 9]).collect();
        assert_eq!(weight(&many), 3.0);
    }

    #[test]
    fn commits_that_are_alike_have_no_priors() {
        let touched = |kinds: &[FileKind]| kinds.iter().copied().collect::<Touched>();
        let (code, document) = (touched(&[FileKind::Code]), touched(&[FileKind::Document]));
        assert_eq!(priors(&[]), None);
        assert_eq!(priors(&[document, document]), None);
        assert_eq!(priors(&[code, document, code]), Some(vec![1.0, 0.1, 1.0]));
    }
}
