//! Categories of costs: scripts, rendering, the kernel.
//!
//! The category follows mostly from the function: its name, the place of its code and its owner;
//! the rest from the browser's activity at the time. A page's layout is sampled as V8's
//! `(program)`, or as the function that asked for it.

use std::fmt;

use super::collector::{self, COLLECTOR};
use super::{Category, Function, Owner};

/// A category of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CostCategory {
    /// The program's own functions in a language that is interpreted or compiled as it runs.
    Script,
    /// Functions in machine code.
    Native,
    /// Styles, layout and painting of a page.
    Rendering,
    /// Parsing of documents and style sheets.
    Loading,
    /// Garbage collection.
    GarbageCollection,
    /// The kernel.
    Kernel,
    /// Packages, extensions, and scripts from other sites than the page's own.
    ThirdParty,
    /// Nothing.
    Idle,
}

/// V8's name for time in which nothing ran.
pub(super) const IDLE: &str = "(idle)";

/// The prefixes of the functions of garbage collectors: of V8 and Python. Go's are in
/// `collector.rs`.
const COLLECTORS: [&str; 6] = [
    COLLECTOR,
    "v8::internal::Heap::CollectGarbage",
    "v8::internal::MarkCompactCollector::",
    "v8::internal::Scavenger",
    "gc_collect_",
    "_PyGC_Collect",
];

/// The suffixes of the sources of scripts.
const SCRIPTS: [&str; 12] = [
    ".cjs", ".html", ".js", ".jsx", ".lua", ".mjs", ".php", ".py", ".rb", ".ts", ".tsx", ".vue",
];

/// The prefixes of sources that only scripts have.
const SCRIPT_SOURCES: [&str; 7] = [
    "<",
    "http://",
    "https://",
    "node:",
    "native ",
    "extensions::",
    "webpack://",
];

/// The module of code that was compiled as it ran.
const COMPILED_AT_RUN_TIME: &str = "[jit]";

impl CostCategory {
    /// The category of a function's own cost, by the function alone. `own_sites` are those of the
    /// pages: without them no site is a third party.
    pub fn of(function: &Function, own_sites: &[Owner]) -> Self {
        if function.name == IDLE {
            return Self::Idle;
        }
        let is_third_party = match &function.owner {
            Some(Owner::Kernel) => return Self::Kernel,
            Some(Owner::Extension(_) | Owner::Package(_)) => true,
            Some(site @ Owner::Site(_)) => !own_sites.is_empty() && !own_sites.contains(site),
            Some(Owner::Runtime) | None => false,
        };
        if is_collector(function) {
            Self::GarbageCollection
        } else if is_third_party {
            Self::ThirdParty
        } else if is_script(function) {
            Self::Script
        } else {
            Self::Native
        }
    }

    /// The same with the browser's activity at the time. The kernel and the garbage collector keep
    /// their categories, whatever caused them, and so does a layout that a script asked for.
    pub fn during(self, event: Option<Category>) -> Self {
        match (self, event) {
            (Self::Idle | Self::Kernel | Self::GarbageCollection, _) => self,
            (_, Some(Category::GarbageCollection)) => Self::GarbageCollection,
            (_, Some(Category::Rendering | Category::Painting)) => Self::Rendering,
            (_, Some(Category::Loading)) => Self::Loading,
            (Self::Native, Some(Category::Scripting)) => Self::Script,
            _ => self,
        }
    }

    /// A short name: `script`, `gc`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Native => "native",
            Self::Rendering => "rendering",
            Self::Loading => "loading",
            Self::GarbageCollection => "gc",
            Self::Kernel => "kernel",
            Self::ThirdParty => "third party",
            Self::Idle => "idle",
        }
    }
}

impl fmt::Display for CostCategory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn is_collector(function: &Function) -> bool {
    let name = function.name.as_str();
    COLLECTORS.iter().any(|start| name.starts_with(start))
        || collector::is_gos(name, function.file.as_deref().unwrap_or_default())
}

fn is_script(function: &Function) -> bool {
    let file = function.file.as_deref().unwrap_or_default();
    let path = file.split(['?', '#']).next().unwrap_or_default();
    SCRIPT_SOURCES.iter().any(|start| file.starts_with(start))
        || SCRIPTS.iter().any(|end| path.ends_with(end))
        || function.module.as_deref() == Some(COMPILED_AT_RUN_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol;

    fn function(name: &str, module: &str, file: &str) -> Function {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Function {
            name: name.into(),
            module: known(&symbol::module(module)),
            file: known(file),
            line: None,
            package: None,
            owner: Owner::of(name, module, file),
        }
    }

    #[test]
    fn functions_say_what_they_spend_on() {
        let own_sites = [Owner::Site("example.com".into())];
        for (name, module, file, expected) in [
            (
                "next",
                "",
                "https://www.example.com/a.js",
                CostCategory::Script,
            ),
            (
                "next",
                "",
                "https://example.org/a.js",
                CostCategory::ThirdParty,
            ),
            (
                "next",
                "",
                "chrome-extension://abcd/a.js",
                CostCategory::ThirdParty,
            ),
            (
                "map",
                "",
                "/app/node_modules/lodash/map.js",
                CostCategory::ThirdParty,
            ),
            ("readFile", "", "node:fs", CostCategory::Script),
            ("main", "", "/app/main.py", CostCategory::Script),
            ("main", "", "<string>", CostCategory::Script),
            (
                "py::main:/app/main.py",
                "/tmp/perf-7.map",
                "",
                CostCategory::Script,
            ),
            ("main", "/app/words", "", CostCategory::Native),
            ("main", "", "/app/main.rs", CostCategory::Native),
            ("(program)", "", "", CostCategory::Native),
            (
                "(garbage collector)",
                "",
                "",
                CostCategory::GarbageCollection,
            ),
            (
                "runtime.gcDrain",
                "",
                "/usr/local/go/src/runtime/mgcmark.go",
                CostCategory::GarbageCollection,
            ),
            (
                "runtime.mallocgc",
                "",
                "/usr/local/go/src/runtime/malloc.go",
                CostCategory::Native,
            ),
            (
                "gc_collect_main",
                "/usr/bin/python3.11",
                "",
                CostCategory::GarbageCollection,
            ),
            (
                "do_syscall_64",
                "[kernel.kallsyms]",
                "",
                CostCategory::Kernel,
            ),
            ("(idle)", "", "", CostCategory::Idle),
            ("(idle)", "[kernel.kallsyms]", "", CostCategory::Idle),
        ] {
            let function = function(name, module, file);
            assert_eq!(
                CostCategory::of(&function, &own_sites),
                expected,
                "{name} {file}"
            );
        }
    }

    #[test]
    fn what_the_browser_does_counts_before_who_asked_for_it() {
        let of =
            |name: &str, event| CostCategory::of(&function(name, "", ""), &[]).during(Some(event));
        for (event, expected) in [
            (Category::Rendering, CostCategory::Rendering),
            (Category::Painting, CostCategory::Rendering),
            (Category::Loading, CostCategory::Loading),
            (Category::GarbageCollection, CostCategory::GarbageCollection),
            (Category::Scripting, CostCategory::Script),
            (Category::Network, CostCategory::Native),
        ] {
            assert_eq!(of("(program)", event), expected, "{event}");
        }
        assert_eq!(of("(idle)", Category::Rendering), CostCategory::Idle);
    }

    #[test]
    fn no_site_is_a_third_party_where_the_page_is_not_known() {
        let function = function("next", "", "https://example.org/a.js");
        assert_eq!(CostCategory::of(&function, &[]), CostCategory::Script);
    }
}
