//! Chromium's `DEPS`, as `gclient` reads it.
//!
//! ```
//! use std::collections::BTreeMap;
//! use pinpoint_midpoint::manifest::{Deps, Manifest, Source};
//!
//! let file = "
//! vars = {'skia_git': 'https://skia.example'}
//! deps = {
//!   'src/third_party/skia': Var('skia_git') + '/skia.git' + '@' + '1f2e3d',
//! }
//! recursedeps = ['src/third_party/skia']
//! ";
//! let dependencies = Deps.read(file, &BTreeMap::new())?;
//! let skia = &dependencies["src/third_party/skia"];
//! assert_eq!(skia.source, Source::Git {
//!     url: "https://skia.example/skia.git".into(),
//!     revision: "1f2e3d".into(),
//! });
//! assert_eq!(skia.nested, ["DEPS"]);
//! # Ok::<(), pinpoint_midpoint::manifest::ManifestError>(())
//! ```
//!
//! The file is written in Python, but only assignments of literals, `Var`, `Str`, `+` and `%` are
//! allowed in it. That subset is interpreted here: no Python is run. Its meaning to gclient is
//! documented in the comments of its schema and in its code
//! (<https://chromium.googlesource.com/chromium/tools/depot_tools/>, `gclient_eval.py` and
//! `gclient.py`); where the two differ over the years, the newer counts. Only `vars`, `deps`,
//! `deps_os` and `recursedeps` are evaluated. `hooks`, `include_rules` and the rest must be of the
//! subset, too.

mod evaluate;
mod fault;
mod lexer;
mod parser;
mod reader;

pub use self::reader::Deps;
