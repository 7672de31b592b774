//! The reasons to doubt a comparison of profiles.

use pinpoint_backends::local::{Profiler, Profiling};
use pinpoint_core::profile::{
    CallersMissing, Explanation, FormatsDiffer, Profile, UnmatchedParts, Verdict,
};
use pinpoint_report::command_line::quoted;
use pinpoint_report::text::{name, plain};

/// The most programs and files matched by similarity that are named.
const MOST_MATCHED: usize = 5;

/// The reasons to doubt a comparison of these profiles, with the option that helps.
pub(crate) fn warnings(
    [base, experiment]: &[Vec<Profile>; 2],
    explanation: &Explanation,
    profiling: Option<&Profiling>,
) -> Vec<String> {
    let differ = FormatsDiffer::between(base, experiment);
    let mut warnings: Vec<String> = differ.iter().map(ToString::to_string).collect();
    // Without moved functions, there is no suspicion of inlining.
    let mut functions = explanation.functions.iter();
    let has_moved = functions.any(|it| it.verdict != Verdict::Uncertain);
    let missing = [base, experiment].map(|side| CallersMissing::of(side));
    if let Some(missing) = missing.into_iter().flatten().next().filter(|_| has_moved) {
        let is_perf = profiling.is_some_and(|it| it.profiler == Profiler::Perf);
        let option = if is_perf {
            " (--profiler perf-dwarf)"
        } else {
            ""
        };
        warnings.push(format!("{missing}{option}"));
    }
    if let Some(unmatched) = UnmatchedParts::of(explanation) {
        warnings.push(format!(
            "{unmatched} (--map OLD=NEW, and --same for a function)"
        ));
    }
    for matched in explanation.matched.iter().take(MOST_MATCHED) {
        let map = format!("{}={}", matched.base, matched.experiment);
        warnings.push(format!(
            "{} of the base is taken for {} of the experiment, since {} in both; --map {} says so",
            name(&matched.base),
            name(&matched.experiment),
            match matched.common {
                1 => "a function has the same name".into(),
                common => format!("{common} functions have the same names"),
            },
            quoted(&[plain(&map).into_owned()])
        ));
    }
    if let Some(more @ 1..) = explanation.matched.len().checked_sub(MOST_MATCHED) {
        warnings.push(format!(
            "{more} more programs and files of the base are taken for others of the experiment"
        ));
    }
    warnings
}
