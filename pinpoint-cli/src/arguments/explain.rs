//! `pinpoint explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pinpoint_core::profile::{ExportFormat, Exported, Window};

/// Say which functions' time moved between two builds, from their profiles.
///
/// Each file is the profile of one run: a Chrome trace or a .cpuprofile, the text of
/// `perf script`, folded stacks, a pprof or callgrind file, or the JSON of Firefox, samply
/// or speedscope, plain or compressed with gzip. Functions are matched by module, name and
/// file, without addresses, hashes and versions.
///
/// A function is named when its difference is certain: p, adjusted for all functions
/// with at least 0.1 % of a side (Benjamini and Hochberg), is at most 0.05. That needs
/// several runs of each side; callgrind counts instructions, so that one is enough.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pinpoint explain --base a1.json a2.json a3.json a4.json --experiment b1.json b2.json b3.json b4.json
  pinpoint explain --paired --base before/*.txt --experiment after/*.txt
  pinpoint explain --base callgrind.out.base --experiment callgrind.out.new --same 'parse=parse_line'
  pinpoint explain --base a*.json --experiment b*.json --window first-paint --output json
  pinpoint explain --base a*.txt --experiment b*.txt --export folded | inferno-flamegraph > difference.svg")]
pub(crate) struct Explain {
    /// The profiles of the build before the change, one of each run.
    #[arg(long, value_name = "FILES", required = true, num_args = 1..)]
    pub(crate) base: Vec<PathBuf>,
    /// The profiles of the build after the change.
    #[arg(long, value_name = "FILES", required = true, num_args = 1..)]
    pub(crate) experiment: Vec<PathBuf>,
    /// Compare pair by pair: each profile of the base was recorded together with that of
    /// the experiment in the same place.
    #[arg(long)]
    pub(crate) paired: bool,
    /// A function of the base that has another name in the experiment; may be repeated.
    #[arg(long, value_name = "OLD=NEW", value_parser = same)]
    pub(crate) same: Vec<(String, String)>,
    /// Count only what happened in this window: every span of this name
    /// (`performance.measure`, `console.time`), or FROM..TO in milliseconds since the
    /// profile began.
    #[arg(long, value_name = "NAME or FROM..TO")]
    pub(crate) window: Option<Window>,
    /// Instead of the answer, write the profiles of a side as one, with means over its
    /// runs: folded, pprof, cpuprofile or speedscope.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) export: Option<ExportFormat>,
    /// What to export.
    #[arg(long, value_enum, default_value_t = SideArgument::Difference, requires = "export")]
    pub(crate) side: SideArgument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideArgument {
    /// The base.
    Base,
    /// The experiment.
    Experiment,
    /// Both in folded stacks; in pprof, the experiment less the base.
    Difference,
}

impl From<SideArgument> for Exported {
    fn from(side: SideArgument) -> Self {
        match side {
            SideArgument::Base => Self::Base,
            SideArgument::Experiment => Self::Experiment,
            SideArgument::Difference => Self::Difference,
        }
    }
}

/// Two names with `=` between them. Names may hold one of their own, as `operator==` does:
/// then it is the one with text on both sides and no other sign beside it.
fn same(text: &str) -> Result<(String, String), String> {
    let is_sign = |c: char| "=<>!+-*/%&|^".contains(c);
    let place = text.match_indices('=').map(|(at, _)| at).find(|at| {
        let (before, after) = (&text[..*at], &text[at + 1..]);
        !before.is_empty()
            && !after.is_empty()
            && !before.ends_with(is_sign)
            && !after.starts_with(is_sign)
    });
    match place {
        Some(at) => Ok((text[..at].to_owned(), text[at + 1..].to_owned())),
        None => Err("write the two names with = between them, as in parse=parse_line".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_may_hold_signs() {
        let names = |text| same(text).map(|(old, new)| format!("{old} {new}"));
        assert_eq!(names("a=b").as_deref(), Ok("a b"));
        assert_eq!(names("f(int)=g::h").as_deref(), Ok("f(int) g::h"));
        assert_eq!(names("operator==(A)=b").as_deref(), Ok("operator==(A) b"));
        assert!(names("a").is_err() && names("=b").is_err() && names("a=").is_err());
    }
}
