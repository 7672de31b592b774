//! The text of a comment.

use std::fmt::Write;

use pinpoint_core::job::{BisectionResult, NamedCulprit};
use pinpoint_core::{CombinedCommit, Commit, Effect, EffectOf, Status, Stopped};

/// The guide to such results and to reporting wrong blame, as in Chromium's Pinpoint.
const HELP: &str = "http://g.co/ChromePerformanceRegressions";
const HOTLIST: &str = "Chromeperf-CulpritDetection-NeedsAttention";

/// The longest foreign text that is passed on, in characters.
const MAX_QUOTED_CHARS: usize = 200;

/// The parts of a comment in addition to the result.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommentContext<'a> {
    /// The bot.
    pub bot: &'a str,
    /// The benchmark.
    pub benchmark: &'a str,
    /// Culprits of the search that were not confirmed.
    pub unconfirmed: &'a [NamedCulprit],
    /// The address of the whole report.
    pub report: Option<&'a str>,
}

/// The comment on a bisection, as Markdown: the number of commits that make a significant
/// difference, and each culprit with its change; or the reason that none was found, and the
/// remaining commits.
///
/// Foreign text (subjects, names of metrics) is shown as it is and formats nothing.
pub fn comment(result: &BisectionResult, about: &CommentContext<'_>) -> String {
    let mut text = format!(
        "{} on {}, {} to {} (job {})\n\n",
        code(about.benchmark),
        code(about.bot),
        short(&result.good),
        short(&result.bad),
        plain(&result.job_id)
    );
    text.push_str(&match result.culprits.len() {
        0 => without_culprit(result),
        1 => "Found a significant difference at 1 commit.\n".to_owned(),
        count => format!("Found significant differences at {count} commits.\n"),
    });
    for suspect in about.unconfirmed {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nA suspect was not confirmed: {} {}",
            links(&suspect.commit),
            plain(suspect.blamed.subject.as_deref().unwrap_or_default())
        );
    }
    if let Some(chart) = &result.chart {
        let _ = writeln!(text, "\nMetric: {}", plain(chart));
    }
    if !result.culprits.is_empty() {
        let _ = writeln!(text, "\nUnderstanding performance regressions: {HELP}");
        text.push_str("\nCulprits:\n\n");
        for culprit in &result.culprits {
            describe(&mut text, culprit, result.unit.as_deref());
        }
        text.push_str(&left(result));
    }
    if let Some(report) = about.report {
        let _ = writeln!(text, "\nReport: {}", link(report));
    }
    if !result.culprits.is_empty() {
        let _ = writeln!(
            text,
            "\nIf the wrong commit is blamed, please add this issue to the hotlist \"{HOTLIST}\" \
             and unassign yourself, so that a sheriff can help."
        );
    }
    text
}

fn without_culprit(result: &BisectionResult) -> String {
    let ends = format!("{} and {}", links(&result.good), links(&result.bad));
    let mut text = match result.status {
        Status::Inconclusive => undecided(result, &ends),
        _ if is_better(result) => {
            format!("No regression was found between {ends}, only improvements.")
        }
        _ => format!("No regression was found between {ends}."),
    };
    if !result.unmeasured.is_empty() {
        text.push_str(" An end gave no value in any run, so only failures were compared.");
    }
    if let Some(largest) = result.change_not_excluded() {
        let unit = result.unit.as_deref().unwrap_or_default();
        let size = match largest.relative {
            Some(relative) => format!("{:.1} %", 100.0 * relative),
            None => format!("{:.3} {unit}", largest.amount),
        };
        let _ = write!(text, " One of up to {} is not excluded.", size.trim_end());
    }
    text + "\n"
}

/// The reason that it is undecided, and the range that may contain a change.
fn undecided(result: &BisectionResult, ends: &str) -> String {
    let why = plain(&result.stopped.to_string());
    let mut text = format!("The search between {ends} was not decided: {why}.");
    let _ = match &result.candidates[..] {
        [] => Ok(()),
        [only] => write!(text, " This commit may be the culprit: {}", links(only)),
        [first, .., last] => write!(
            text,
            " One of these {} commits may be the culprit: {} to {}",
            result.candidates.len(),
            links(first),
            links(last)
        ),
    };
    text
}

/// Returns whether something changed, and only for the better.
fn is_better(result: &BisectionResult) -> bool {
    let mut compared = { result.comparisons.iter() }.filter_map(|it| it.performance.as_ref());
    let posterior = result.posterior.as_ref();
    compared.any(|performance| performance.is_improvement)
        || posterior.is_some_and(|posterior| posterior.better > posterior.no_change / 2.0)
}

/// The undecided commits, in addition to culprits.
fn left(result: &BisectionResult) -> String {
    let commits = match result.candidates.len() {
        _ if result.stopped == Stopped::Decided => return String::new(),
        0 => return String::new(),
        1 => "1 more commit".to_owned(),
        count => format!("{count} more commits"),
    };
    let why = plain(&result.stopped.to_string());
    format!(
        "\nThe search ended before it was complete ({why}); {commits} may hold another culprit.\n"
    )
}

fn describe(text: &mut String, culprit: &NamedCulprit, unit: Option<&str>) {
    let _ = writeln!(text, "* {}", links(&culprit.commit));
    if let Some(subject) = &culprit.blamed.subject {
        let _ = writeln!(text, "  * {}", plain(subject));
    }
    let _ = writeln!(text, "  * {}", change(&culprit.effect, unit));
    if let Some(probability) = culprit.probability {
        let _ = writeln!(
            text,
            "  * It is the culprit with a probability of {}.",
            percent(probability)
        );
    }
    if culprit.undone {
        text.push_str(match culprit.commit.modified_deps.is_empty() {
            true => "  * Only the good end has it.\n",
            false => "  * A dependency was set back and lost it.\n",
        });
    }
}

/// `REPOSITORY/+/HASH DEPENDENCY/+/HASH …`
fn links(commit: &CombinedCommit) -> String {
    let links: Vec<String> = places(commit).iter().map(|place| link(place)).collect();
    links.join(" ")
}

/// `REPOSITORY/+/HASH` of the main commit, and of each dependency.
pub(crate) fn places(commit: &CombinedCommit) -> Vec<String> {
    let dependencies = commit.modified_deps.iter().map(|it| &it.commit);
    let commits = std::iter::once(&commit.main).chain(dependencies);
    let place = |commit: &Commit| {
        let repository = commit.repository.trim_end_matches('/');
        format!("{repository}/+/{}", commit.git_hash)
    };
    commits.map(place).collect()
}

/// An address as a link if it is valid; anything else as plain text.
fn link(address: &str) -> String {
    let is_address = address.starts_with("https://") || address.starts_with("http://");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&+,;=%".contains(&byte);
    if is_address && address.bytes().all(is_plain) {
        address.to_owned()
    } else {
        plain(address)
    }
}

fn change(effect: &Effect, unit: Option<&str>) -> String {
    let level = percent(effect.confidence);
    let (before, after) = (effect.before, effect.after);
    if effect.of == EffectOf::Failures {
        let mut text = format!(
            "Runs fail: {} before, {} since",
            percent(before),
            percent(after)
        );
        if let Some(interval) = effect.interval {
            let (low, high) = (points(interval.low), points(interval.high));
            let _ = write!(
                text,
                " ({level} interval of the difference: {low} to {high})"
            );
        }
        if let Some(failure) = &effect.after_failure {
            let _ = write!(text, ": {}", plain(&failure.reason));
        }
        return text + ".";
    }
    let unit = unit
        .map(|unit| format!(" {}", plain(unit)))
        .unwrap_or_default();
    let mut text = format!(
        "Median {}{unit} before, {}{unit} since",
        digits(before),
        digits(after)
    );
    if let Some(estimate) = effect.estimate {
        let _ = write!(text, "; estimated change {}{unit}", signed(estimate));
        if before != 0.0 {
            let _ = write!(text, ", {} %", signed(100.0 * estimate / before.abs()));
        }
    }
    if let Some(interval) = effect.interval {
        let _ = match (interval.low.is_finite(), interval.high.is_finite()) {
            (true, true) => write!(
                text,
                " ({level} interval {} to {}{unit})",
                signed(interval.low),
                signed(interval.high)
            ),
            (true, false) => write!(
                text,
                " ({level} sure: at least {}{unit})",
                signed(interval.low)
            ),
            (false, true) => write!(
                text,
                " ({level} sure: at most {}{unit})",
                signed(interval.high)
            ),
            (false, false) => Ok(()),
        };
    }
    text + "."
}

/// The beginning of the main commit's hash.
fn short(commit: &CombinedCommit) -> String {
    plain(&commit.main.git_hash.chars().take(10).collect::<String>())
}

/// A foreign name, as code. Nothing in it ends the code or the line.
fn code(name: &str) -> String {
    let shown = name.chars().take(MAX_QUOTED_CHARS);
    let shown = shown.map(|it| match it {
        '`' => '\'',
        _ if it.is_control() => ' ',
        _ => it,
    });
    format!("`{}`", shown.collect::<String>())
}

/// Foreign text: nothing in it is a format, a link or another line.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(MAX_QUOTED_CHARS) {
        match character {
            _ if character.is_control() => shown.push(' '),
            // Characters that begin or end a format, or an accidental link.
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '!' | '|' | '~'
            | '&' | '@' | ':' | '$' => {
                shown.push('\\');
                shown.push(character);
            }
            // Marks that change the direction of writing.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ => shown.push(character),
        }
    }
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Four significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let magnitude = libm::floor(libm::log10(value.abs()));
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).clamp(0.0, 7.0) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", digits(value))
}

fn percent(part: f64) -> String {
    format!("{} %", digits(100.0 * part))
}

fn points(part: f64) -> String {
    format!("{} points", signed(100.0 * part))
}

#[cfg(test)]
#[path = "comment_tests.rs"]
mod tests;
