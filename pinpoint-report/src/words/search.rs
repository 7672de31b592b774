//! The findings of a search, and the reason for its end.

use std::fmt::Write;

use pinpoint_core::job::{BisectionResult, NamedCulprit};
use pinpoint_core::{
    CommonFailure, DependencyChange, Effect, EffectOf, Followed, LargestChange, OtherChange,
    Status, Stopped,
};

use super::{line, short};
use crate::quantity::{change, level, quantity};
use crate::text::{name, plain, shortened};

/// The longest reason that is written out.
const LONGEST_REASON: usize = 4_096;

/// The reason for a failure, as foreign text: on any number of lines, but of limited length.
pub fn reason(text: &str) -> String {
    shortened(&plain(text), LONGEST_REASON).into_owned()
}

/// The longest reason that is written on a line.
const LONGEST_ON_A_LINE: usize = 240;

/// The most common reasons of failing runs before and after, on the line with the failure rates: `:
/// exit code 1`. Empty where there are none.
pub fn because(reasons: [Option<&CommonFailure>; 2]) -> String {
    let one = |failure: &CommonFailure| {
        let text = plain(failure.reason.lines().next().unwrap_or_default()).into_owned();
        let text = shortened(&text, LONGEST_ON_A_LINE).into_owned();
        match failure.runs < failure.failed {
            true => format!("{text} ({} of {})", failure.runs, failure.failed),
            false => text,
        }
    };
    match reasons {
        [None, None] => String::new(),
        [Some(before), Some(after)] if before.reason != after.reason => {
            format!(": {} → {}", one(before), one(after))
        }
        [_, Some(only)] | [Some(only), None] => format!(": {}", one(only)),
    }
}

/// The size of the largest change that is not excluded.
pub fn size(largest: &LargestChange, unit: Option<&str>) -> String {
    let amount = quantity(largest.amount, unit);
    match largest.relative {
        Some(relative) if relative < 0.001 => format!("0.1 % ({amount})"),
        Some(relative) => format!("{:.1} % ({amount})", 100.0 * relative),
        None => amount,
    }
}

/// The change that shows although none of those looked for was found.
pub fn other_change(document: &BisectionResult, other: &OtherChange) -> String {
    let what = match other.is_better {
        true => "a change for the better",
        false => "a change smaller than those looked for",
    };
    format!("there is {what}: {}", effect(document, &other.effect))
}

/// The remark that the values of the two ends were not compared, as an end has none.
pub fn only_failures(document: &BisectionResult) -> &'static str {
    match document.unmeasured.len() {
        1 => "one end gave no value, and only failures were compared",
        _ => "nothing was measured, as neither end gave a value; only failures were compared",
    }
}

/// The undecided rest after culprits were found, and the reason.
pub fn further(document: &BisectionResult) -> Option<String> {
    let is_open = document.status == Status::CulpritFound && document.stopped != Stopped::Decided;
    let range = match &document.candidates[..] {
        [first, .., last] => format!("from {} to {}", short(first), short(last)),
        [only] => format!("at {}", short(only)),
        [] => return None,
    };
    is_open.then(|| {
        format!(
            "whether there is a further change {range}: {}",
            why(&document.stopped)
        )
    })
}

/// The detour of a search from its good end to its bad end, where neither is part of the other's
/// history.
pub fn detour(document: &BisectionResult) -> Option<String> {
    let base = document.merge_base.as_ref()?;
    let [good, bad, base] = [&document.good, &document.bad, base].map(short);
    Some(format!(
        "{good} is not part of the history of {bad}: the search went back from {good} to their merge base {base}, and from there to {bad}"
    ))
}

/// The way in which the culprit lost the commit to blame; `None` for a culprit that has it.
pub fn how_lost(document: &BisectionResult, culprit: &NamedCulprit) -> Option<&'static str> {
    let is_ours = culprit.blamed.repository == document.good.main.repository;
    culprit.undone.then_some(match is_ours {
        true => "only the good end has it",
        false => "a roll took it back",
    })
}

/// The commit of the main repository with the roll, where the culprit is a state inside of it.
pub fn rolled_by(culprit: &NamedCulprit) -> Option<String> {
    let is_inside = !culprit.commit.modified_deps.is_empty();
    let rolled_by = culprit.rolled_by.clone().filter(|_| is_inside)?;
    Some(line(&rolled_by.into()))
}

/// The other commits that may be to blame.
pub fn alternatives(culprit: &NamedCulprit) -> Option<String> {
    /// More are counted.
    const MAX_ALTERNATIVES: usize = 10;
    let hashes: Vec<&str> = (culprit.alternatives.iter())
        .map(|commit| commit.git_hash.get(..10).unwrap_or(&commit.git_hash))
        .collect();
    let others = match hashes.len() {
        0 => return None,
        count if count <= MAX_ALTERNATIVES => String::new(),
        count => format!(" and {} more", count - MAX_ALTERNATIVES),
    };
    let shown = hashes[..hashes.len().min(MAX_ALTERNATIVES)].join(", ");
    Some(format!(
        "{shown}{others}: a state with some of these and without the others conflicts, so that they could not be measured one by one"
    ))
}

/// The reason why a job ended.
pub fn why(stopped: &Stopped) -> String {
    reason(&stopped.to_string())
}

/// A dependency that rolled, on one line.
pub fn dependency_change(change: &DependencyChange) -> String {
    let revision = |revision: &Option<String>| match revision {
        Some(revision) => plain(revision.get(..10).unwrap_or(revision)).into_owned(),
        None => "nothing".to_owned(),
    };
    let mut text = format!(
        "{} {} → {}",
        plain(&change.path),
        revision(&change.before),
        revision(&change.after)
    );
    match &change.followed {
        Followed::Backward => text.push_str(", set back"),
        Followed::No { reason, .. } => {
            let _ = write!(text, ": {}", self::reason(reason));
        }
        _ => {}
    }
    text
}

/// The percentage by which values differ, where a number expresses it.
pub fn percent(effect: &Effect) -> Option<f64> {
    relative(effect.estimate?, effect)
}

/// The decimals of a percentage: a small one is not rounded to nothing.
fn decimals(percent: f64) -> usize {
    match percent.abs() {
        0.0 | 0.95.. => 1,
        0.095.. => 2,
        _ => 3,
    }
}

/// A difference in percent of the level before it.
fn relative(difference: f64, effect: &Effect) -> Option<f64> {
    let percent = 100.0 * (difference / effect.before.abs());
    percent.is_finite().then_some(percent)
}

/// The difference of two commits, on one line.
pub fn effect(document: &BisectionResult, effect: &Effect) -> String {
    let level = level(effect.confidence);
    match effect.of {
        EffectOf::Values => {
            let unit = document.unit.as_deref();
            let chart = name(document.chart.as_deref().unwrap_or("value"));
            let mut text = chart;
            if let Some(estimate) = effect.estimate {
                let _ = write!(text, " {}", change(estimate, unit));
            }
            if let Some(percent) = percent(effect) {
                let _ = write!(text, " ({:+.*} %)", decimals(percent), percent);
            }
            if let Some(interval) = &effect.interval {
                let _ = write!(
                    text,
                    ", {level} interval {} to {}",
                    change(interval.low, unit),
                    change(interval.high, unit)
                );
                let [low, high] = [interval.low, interval.high].map(|end| relative(end, effect));
                if let (Some(low), Some(high)) = (low, high) {
                    let decimals = decimals(low).max(decimals(high));
                    let _ = write!(text, " ({low:+.decimals$} to {high:+.decimals$} %)");
                }
            }
            let separator = if effect.estimate.is_some() { "; " } else { " " };
            let [before, after] = [effect.before, effect.after].map(|it| quantity(it, unit));
            let _ = match effect.adjusted {
                false => write!(text, "{separator}medians {before} → {after}"),
                true => write!(
                    text,
                    "{separator}levels without the machine's states {before} → {after}"
                ),
            };
            text
        }
        EffectOf::Failures => {
            let percent = |rate: f64| format!("{:.0} %", 100.0 * rate);
            let mut text = format!(
                "failing runs {} → {}",
                percent(effect.before),
                percent(effect.after)
            );
            if let Some(interval) = &effect.interval {
                let _ = write!(
                    text,
                    ", {level} interval of the difference {} to {}",
                    percent(interval.low),
                    percent(interval.high)
                );
            }
            let reasons = [&effect.before_failure, &effect.after_failure];
            text + &because(reasons.map(Option::as_ref))
        }
        other => format!("{} {} → {}", other.as_str(), effect.before, effect.after),
    }
}
