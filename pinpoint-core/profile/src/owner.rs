//! The owners of functions' code.
//!
//! Code that a page loads from elsewhere, that a package manager installs or that comes with the
//! system is not the program's own. The place of the code shows it:
//!
//! ```text
//! https://cdn.example.co.uk/x.js                    site example.co.uk
//! chrome-extension://abcd/content.js                extension abcd
//! /app/node_modules/@babel/core/lib/a.js            package @babel/core
//! [kernel.kallsyms]                                 kernel
//! node:internal/timers, libc.so.6, runtime/proc.go  runtime
//! src/lexer.rs, http://localhost:8000/main.js       none: the program itself
//! ```

use core::net::Ipv4Addr;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::symbol;

/// The owner of a function's code, where it is not the program's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
#[non_exhaustive]
pub enum Owner {
    /// A site, by its registrable domain: `example.co.uk` of `cdn.example.co.uk`.
    Site(String),
    /// An extension of the browser, by its id.
    Extension(String),
    /// A package, by the name that its package manager gives it, without the version.
    Package(String),
    /// The kernel.
    Kernel,
    /// The language or the system: its runtime and standard library.
    Runtime,
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Site(name) | Self::Extension(name) | Self::Package(name) => name,
            Self::Kernel => "kernel",
            Self::Runtime => "runtime",
        })
    }
}

impl Owner {
    /// The owner of a function, by its name, the path of its program or library, and the path or
    /// URL of its source, each empty where it is not known. `None` for the program itself, and
    /// where no owner shows.
    ///
    /// The host of a URL counts before a package in its path; an address of a network, and a name
    /// without a public suffix such as `localhost`, are not sites.
    ///
    /// ```
    /// use pinpoint_profile::Owner;
    ///
    /// let owner = |file: &str| Owner::of("next", "", file).map(|owner| owner.to_string());
    /// assert_eq!(owner("https://www.example.co.uk/a.js").as_deref(), Some("example.co.uk"));
    /// assert_eq!(owner("/app/node_modules/lodash/map.js").as_deref(), Some("lodash"));
    /// assert_eq!(owner("/app/src/map.js"), None);
    /// ```
    pub fn of(name: &str, module: &str, file: &str) -> Option<Self> {
        if symbol::module(module) == symbol::KERNEL {
            return Some(Self::Kernel);
        }
        if let Some((scheme, rest)) = file.split_once("://") {
            let host = host(rest);
            if scheme.ends_with("-extension") {
                return Some(Self::Extension(host.to_owned()));
            }
            if let ("http" | "https", Some(site)) = (scheme, registrable_domain(host)) {
                return Some(Self::Site(site));
            }
        }
        if is_runtime(name, module, file) {
            return Some(Self::Runtime);
        }
        let package = symbol::package(file).or_else(|| symbol::package(module))?;
        Some(Self::Package(package.name.into_owned()))
    }

    /// The site of a URL.
    pub(super) fn site(url: &str) -> Option<Self> {
        match Self::of("", "", url) {
            site @ Some(Self::Site(_)) => site,
            _ => None,
        }
    }
}

/// The host of a URL without its scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let address = authority.rsplit('@').next().unwrap_or_default();
    if address.starts_with('[') {
        return address;
    }
    address.split(':').next().unwrap_or_default()
}

fn registrable_domain(host: &str) -> Option<String> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
        return None;
    }
    psl::domain_str(&host).map(str::to_owned)
}

/// The prefixes of the sources of runtimes: Node.js, V8, Python's frozen modules, Rust's library.
const RUNTIME_SOURCES: [&str; 5] = ["node:", "native ", "extensions::", "<frozen ", "/rustc/"];

/// The prefixes of the libraries of runtimes, and of programs that are only a runtime.
const RUNTIME_LIBRARIES: [&str; 10] = [
    "ld-linux",
    "ld-musl",
    "libc++",
    "libgcc_s",
    "libpthread",
    "libpython",
    "libstdc++",
    "libsystem_",
    "python2",
    "python3",
];

fn is_runtime(name: &str, module: &str, file: &str) -> bool {
    let begins = |text: &str, with: &[&str]| with.iter().any(|start| text.starts_with(start));
    let library = symbol::module(module);
    matches!(
        name,
        "(root)" | "(program)" | "(idle)" | "(garbage collector)"
    ) || begins(file, &RUNTIME_SOURCES)
        // Node.js before version 12 names its own modules without `node:`.
        || (file.starts_with("internal/") && file.ends_with(".js"))
        || file.contains("/rustlib/src/rust/")
        || matches!(
            &*library,
            "libc.so" | "libm.so" | "libdl.so" | "librt.so" | "[vdso]" | "node" | "python"
        )
        || begins(&library, &RUNTIME_LIBRARIES)
        || is_of_python(file)
        || is_of_go(name, file)
}

/// Python's standard library: `/usr/lib/python3.11/json/decoder.py`.
fn is_of_python(file: &str) -> bool {
    let parts: Vec<&str> = file.split(['/', '\\']).collect();
    let is_library =
        |pair: &[&str]| matches!(pair, ["lib" | "lib64", folder] if folder.starts_with("python"));
    parts.windows(2).any(is_library)
        && !parts
            .iter()
            .any(|part| symbol::PYTHON_PACKAGES.contains(part))
}

/// Go's standard library: `/usr/local/go/src/strings/builder.go` holds package `strings`.
fn is_of_go(name: &str, file: &str) -> bool {
    if file.contains("golang.org/toolchain@") {
        return true;
    }
    let Some((folder, base)) = file.rsplit_once('/') else {
        return false;
    };
    let name = name.split('[').next().unwrap_or_default();
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    let dot = name.get(start..).and_then(|rest| rest.find('.'));
    let package = dot.and_then(|dot| name.get(..start + dot));
    let Some(package) = package.filter(|package| !matches!(*package, "" | "main")) else {
        return false;
    };
    // The first part of any other module's path is a host.
    let is_plain = !package.split('/').next().unwrap_or_default().contains('.');
    let before = folder.strip_suffix(package);
    let is_go = base.ends_with(".go") || base.ends_with(".s");
    is_go
        && is_plain
        && before.is_some_and(|before| before.is_empty() || before.ends_with("go/src/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str) -> Option<Owner> {
        Some(Owner::Site(name.into()))
    }

    fn package(name: &str) -> Option<Owner> {
        Some(Owner::Package(name.into()))
    }

    #[test]
    fn sources_show_whose_they_are() {
        let extension = Some(Owner::Extension("abcd".into()));
        for (file, expected) in [
            ("https://www.example.co.uk/a.js?x#y", site("example.co.uk")),
            ("https://me@CDN.Example.com.:8443/a.js", site("example.com")),
            ("https://someone.github.io/a.js", site("someone.github.io")),
            ("https://github.io/a.js", None),
            ("https://example.com", site("example.com")),
            ("http://localhost:8000/main.js", None),
            ("http://127.0.0.1:8000/main.js", None),
            ("http://[::1]:8000/main.js", None),
            ("http:///main.js", None),
            (
                "http://localhost/node_modules/lodash/map.js",
                package("lodash"),
            ),
            (
                "webpack://app/./node_modules/@babel/core/a.js",
                package("@babel/core"),
            ),
            ("file:///app/src/map.js", None),
            ("chrome-extension://abcd/content.js", extension.clone()),
            ("moz-extension://abcd/content.js", extension),
            ("node:internal/timers", Some(Owner::Runtime)),
            ("internal/modules/cjs/loader.js", Some(Owner::Runtime)),
            ("/w/internal/a.js", None),
            ("<frozen importlib._bootstrap>", Some(Owner::Runtime)),
            ("/usr/lib/python3.11/json/decoder.py", Some(Owner::Runtime)),
            (
                "/v/lib/python3.11/site-packages/numpy/a.py",
                package("numpy"),
            ),
            ("/usr/lib/python3/dist-packages/yaml/a.py", package("yaml")),
            ("/rustc/0123/library/core/src/ptr.rs", Some(Owner::Runtime)),
            (
                "/h/.cargo/registry/src/index-1/memchr-2.7.4/src/lib.rs",
                package("memchr"),
            ),
            (
                "/go/pkg/mod/example.com/a@v1.2.3/b.go",
                package("example.com/a"),
            ),
            ("src/lexer.rs", None),
            ("", None),
        ] {
            assert_eq!(Owner::of("f", "", file), expected, "{file}");
        }
    }

    #[test]
    fn libraries_show_whose_they_are() {
        for (module, expected) in [
            ("[kernel.kallsyms]", Some(Owner::Kernel)),
            ("/boot/vmlinux-6.1", Some(Owner::Kernel)),
            ("/usr/lib/libc.so.6", Some(Owner::Runtime)),
            ("/lib64/ld-linux-x86-64.so.2", Some(Owner::Runtime)),
            ("/usr/bin/python3.11", Some(Owner::Runtime)),
            ("/usr/bin/node", Some(Owner::Runtime)),
            ("[vdso]", Some(Owner::Runtime)),
            ("/v/site-packages/numpy/core/_umath.so", package("numpy")),
            ("/usr/bin/words", None),
        ] {
            assert_eq!(Owner::of("f", module, ""), expected, "{module}");
        }
    }

    #[test]
    fn gos_library_is_known_by_its_packages() {
        let runtime = Some(Owner::Runtime);
        for (name, file, expected) in [
            (
                "runtime.mallocgc",
                "/usr/local/go/src/runtime/malloc.go",
                &runtime,
            ),
            (
                "encoding/json.(*decodeState).object",
                "/go/src/encoding/json/decode.go",
                &runtime,
            ),
            ("slices.Sort[go.shape.[]a/b.T]", "slices/sort.go", &runtime),
            (
                "runtime.memmove",
                "/root/go/pkg/mod/golang.org/toolchain@v0.0.1/src/runtime/a.s",
                &runtime,
            ),
            ("main.main", "/usr/local/go/src/main/main.go", &None),
            ("words.hash", "/work/words/words.go", &None),
            ("example.com/a.F", "/go/src/example.com/a/f.go", &None),
            ("f", "/work/f.go", &None),
        ] {
            assert_eq!(&Owner::of(name, "", file), expected, "{name}");
        }
    }

    #[test]
    fn v8s_own_functions_are_the_runtimes() {
        assert_eq!(Owner::of("(program)", "", ""), Some(Owner::Runtime));
        assert_eq!(Owner::of("(anonymous)", "", ""), None);
    }
}
