//! The progress that PHPBench prints, which has its results.
//!
//! ```text
//! \Acme\HashBench
//!
//!     benchMd5................................I4 - Mo0.953μs (±1.50%)
//! ```
//!
//! One chart for each subject, `\Acme\HashBench benchMd5`. As in `lib/Progress` of PHPBench 1.2;
//! it was not run.

use super::description::{Tool, less};

pub(super) const TOOL: Tool = Tool {
    name: "phpbench",
    signs: &["PHPBench {} running benchmarks...{}"],
    figures: &[
        less("{name}{dots}I{} Mo{value}{unit} (±{}%)", "{name}", "us"),
        less("{name}{dots}R{} I{} Mo{value}{unit} (±{}%)", "{name}", "us"),
        less(
            "{name}{dots}I{} [Mo{value}{unit} vs. Mo{}] {}%)",
            "{name}",
            "us",
        ),
        less(
            "{name}{dots}R{} I{} [Mo{value}{unit} vs. Mo{}] {}%)",
            "{name}",
            "us",
        ),
    ],
    section: Some("\\{name}"),
    failures: &["{name} ERROR"],
    warnings: &["Subjects: {}, Assertions: {}, Failures: {value}, Errors: {}"],
    own: &["with PHP version {}"],
    ..Tool::NONE
};
