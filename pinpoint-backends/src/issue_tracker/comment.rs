//! What a comment says.

use std::fmt::Write;

use pinpoint_core::job::{BisectionResult, NamedCulprit};
use pinpoint_core::{CombinedCommit, Commit, Effect, EffectOf, Status};

/// How to read such results, and where wrong blame goes, as Chromium's Pinpoint says it.
const HELP: &str = "http://g.co/ChromePerformanceRegressions";
const HOTLIST: &str = "Chromeperf-CulpritDetection-NeedsAttention";

/// The longest text of others that is passed on, in characters.
const LONGEST: usize = 200;

/// The comment on a bisection, as Markdown: how many commits make a significant difference,
/// and each culprit with its change. `report` is the address of the whole report.
///
/// Text of others (subjects, names of metrics) is shown as it is and formats nothing.
pub fn comment(result: &BisectionResult, report: Option<&str>) -> String {
    let mut text = match result.culprits.len() {
        0 if result.status == Status::Inconclusive => undecided(result),
        0 => "Found no significant difference that a commit explains.\n".to_owned(),
        1 => "Found a significant difference at 1 commit.\n".to_owned(),
        count => format!("Found significant differences at {count} commits.\n"),
    };
    if let Some(chart) = &result.chart {
        // Writing to a string can't fail.
        let _ = writeln!(text, "\nMetric: {}", plain(chart));
    }
    if !result.culprits.is_empty() {
        let _ = writeln!(text, "\nUnderstanding performance regressions: {HELP}");
        text.push_str("\nCulprits:\n\n");
        for culprit in &result.culprits {
            describe(&mut text, culprit, result.unit.as_deref());
        }
    }
    if let Some(report) = report {
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

/// The range in which a change may be that was not found.
fn undecided(result: &BisectionResult) -> String {
    let range = match (result.candidates.first(), result.candidates.last()) {
        (Some(first), Some(last)) => format!(
            "; any of {} commits may be one, from {} to {}",
            result.candidates.len(),
            links(first),
            links(last)
        ),
        _ => String::new(),
    };
    format!("Found no culprit before the search ended{range}.\n")
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
        text.push_str("  * A dependency was set back and lost it.\n");
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

/// An address as it is, if it is one; anything else as plain text.
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
        let _ = write!(text, ": {}{unit}", signed(estimate));
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

/// Text of others: nothing in it is a format, a link or another line.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(LONGEST) {
        match character {
            _ if character.is_control() => shown.push(' '),
            // What begins or ends a format, or a link that nobody wrote as one.
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '!' | '|' | '~'
            | '&' | '@' | ':' | '$' => {
                shown.push('\\');
                shown.push(character);
            }
            // Marks that turn the direction of writing.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ => shown.push(character),
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// Four digits that count.
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
mod tests {
    use pinpoint_compare::Interval;
    use pinpoint_core::{ModifiedDependency, Stopped};
    use proptest::prelude::*;

    use super::*;

    const CHROMIUM: &str = "https://chromium.googlesource.com/chromium/src.git";
    const V8: &str = "https://chromium.googlesource.com/v8/v8.git";

    fn commit(repository: &str, digit: &str) -> Commit {
        Commit {
            subject: Some("Roll *v8* to <next>\n# 1".into()),
            ..Commit::new(repository, digit.repeat(40))
        }
    }

    fn culprit(commit: CombinedCommit, effect: Effect) -> NamedCulprit {
        NamedCulprit {
            blamed: commit.main.clone(),
            prior: commit.clone(),
            commit,
            probability: Some(0.985),
            effect,
            confirmation: None,
            undone: false,
            other_changes: Vec::new(),
            reproduce: None,
        }
    }

    fn effect(of: EffectOf, low: f64, high: f64) -> Effect {
        Effect {
            of,
            estimate: Some(12.5),
            interval: Some(Interval { low, high }),
            confidence: 0.95,
            before: 100.0,
            after: 112.25,
        }
    }

    fn result(culprits: Vec<NamedCulprit>) -> BisectionResult {
        let end = CombinedCommit::from(commit(CHROMIUM, "0"));
        BisectionResult {
            version: 1,
            job_id: "j".into(),
            status: Status::CulpritFound,
            stopped: Stopped::Decided,
            good: end.clone(),
            bad: end,
            chart: Some("Score_[x]".into()),
            unit: Some("ms".into()),
            culprits,
            candidates: Vec::new(),
            posterior: None,
            runs: 0,
            builds: 0,
            comparisons: Vec::new(),
            unchanged: Vec::new(),
            skipped: Vec::new(),
            warnings: Vec::new(),
            unmeasured: Vec::new(),
            duration_s: 0.0,
        }
    }

    #[test]
    fn every_culprit_is_named_with_its_change() {
        let mut rolled = CombinedCommit::from(commit(CHROMIUM, "1"));
        rolled.modified_deps.push(ModifiedDependency {
            commit: commit(V8, "2"),
            named_by: CHROMIUM.into(),
        });
        let values = effect(EffectOf::Values, 10.1, 14.875);
        let mut failures = effect(EffectOf::Failures, 0.5, 0.9);
        (failures.before, failures.after) = (0.05, 0.75);
        let other = CombinedCommit::from(commit(CHROMIUM, "3"));
        let result = result(vec![culprit(rolled, values), culprit(other, failures)]);
        let text = comment(&result, Some("https://pinpoint.example.org/jobs/j"));
        let hash = |digit: &str| digit.repeat(40);
        let expected = format!(
            r#"Found significant differences at 2 commits.

Metric: Score\_\[x\]

Understanding performance regressions: http://g.co/ChromePerformanceRegressions

Culprits:

* {CHROMIUM}/+/{} {V8}/+/{}
  * Roll \*v8\* to \<next\> \# 1
  * Median 100 ms before, 112.2 ms since: +12.5 ms, +12.5 % (95 % interval +10.1 to +14.88 ms).
  * It is the culprit with a probability of 98.5 %.
* {CHROMIUM}/+/{}
  * Roll \*v8\* to \<next\> \# 1
  * Runs fail: 5 % before, 75 % since (95 % interval of the difference: +50 points to +90 points).
  * It is the culprit with a probability of 98.5 %.

Report: https://pinpoint.example.org/jobs/j

If the wrong commit is blamed, please add this issue to the hotlist "Chromeperf-CulpritDetection-NeedsAttention" and unassign yourself, so that a sheriff can help.
"#,
            hash("1"),
            hash("2"),
            hash("3"),
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn no_culprit_and_one() {
        assert_eq!(
            comment(&result(Vec::new()), None),
            "Found no significant difference that a commit explains.\n\nMetric: Score\\_\\[x\\]\n"
        );
        let open = effect(EffectOf::Values, 3.0, f64::INFINITY);
        let commit = CombinedCommit::from(commit("/home/x`y`", "1"));
        let text = comment(&result(vec![culprit(commit, open)]), None);
        assert!(text.starts_with("Found a significant difference at 1 commit.\n"));
        assert!(text.contains("(95 % sure: at least +3 ms)."), "{text}");
        assert!(text.contains("* /home/x\\`y\\`/+/1"), "{text}");
    }

    #[test]
    fn a_search_that_did_not_decide_names_its_range() {
        let at = |digit: &str| CombinedCommit::from(commit(CHROMIUM, digit));
        let mut undecided = result(Vec::new());
        undecided.status = Status::Inconclusive;
        undecided.candidates = ["1", "2", "3"].map(at).into();
        let text = comment(&undecided, None);
        let [first, last] = ["1", "3"].map(|digit| digit.repeat(40));
        let expected = format!(
            "Found no culprit before the search ended; any of 3 commits may be one, from \
             {CHROMIUM}/+/{first} to {CHROMIUM}/+/{last}.\n"
        );
        assert!(text.starts_with(&expected), "{text}");
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown = [
            0.0,
            1.0,
            -1234.56,
            0.00012345,
            99.999,
            1e-9,
            123_456.7,
            2.5e20,
            f64::MAX,
        ];
        assert_eq!(
            shown.map(digits),
            [
                "0",
                "1",
                "-1235",
                "0.0001234",
                "100",
                "1.000e-9",
                "123457",
                "2.500e20",
                "1.798e308"
            ]
        );
    }

    proptest! {
        #[test]
        fn text_of_others_stays_a_line_without_formats(text: String) {
            let shown = plain(&text);
            let refused = ['\n', '\r', '\u{202e}'];
            prop_assert!(!shown.contains(refused));
            let mut characters = shown.chars();
            while let Some(character) = characters.next() {
                match character {
                    '\\' => prop_assert!(characters.next().is_some()),
                    other => {
                        let is_format = "`*_[]<>#!|~&@:".contains(other);
                        prop_assert!(!is_format);
                    }
                }
            }
        }
    }
}
