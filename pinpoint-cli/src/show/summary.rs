//! The result of a bisection, for people.

use std::fmt::Write;

use pinpoint_core::{
    CombinedCommit, Comparison, DependencyChange, Followed, LargestChange, PerformanceComparison,
    Posterior, Status, Stopped, Unchanged,
};
use pinpoint_report::quantity::{change, count, duration, level, p_value, quantity};
use pinpoint_report::text::plain;
use pinpoint_report::words::{
    self, alternatives, detour, effect, further, how_lost, line, line_of, only_failures,
    other_change, reason, rolled_by, short, size, why,
};

use crate::advice::clone_of;
use crate::arguments::Display;
use crate::show::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};
use pinpoint_core::job::{BisectionResult, Confirmation, MeasuredMetric, NamedCulprit};

/// The most commits of a range that are written out.
const MOST_CANDIDATES: usize = 20;

/// The most spans of a posterior that are written out, and the least probability of one.
const MOST_SPANS: usize = 10;
const LEAST_PROBABILITY: f64 = 0.001;

pub(crate) fn render(document: &BisectionResult, display: &Display) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, document, display);
    text
}

fn write(text: &mut Text, document: &BisectionResult, display: &Display) -> std::fmt::Result {
    headline(text, document, display)?;
    for (number, culprit) in document.culprits.iter().enumerate() {
        if number > 0 {
            writeln!(text)?;
        }
        write_culprit(text, document, culprit)?;
    }
    if let Some(further) = further(document) {
        writeln!(text, "\n{FOUND}not decided{FOUND:#} {further}")?;
    }
    if let Some(detour) = detour(document) {
        writeln!(text, "\n{detour}")?;
    }
    write_unmeasured(text, document)?;
    write_candidates(text, document)?;
    write_unchanged(text, &document.unchanged)?;
    if !document.skipped.is_empty() {
        writeln!(text, "\n{BOLD}skipped{BOLD:#}")?;
        for skip in &document.skipped {
            writeln!(text, "  {}: {}", line(&skip.commit), reason(&skip.reason))?;
        }
    }
    write_warnings(text, &document.warnings)?;
    write_metric(text, document.metric.as_ref())?;
    writeln!(
        text,
        "{DIM}{}, {} in {}; job {}{DIM:#}",
        count(document.runs, "run"),
        count(document.builds, "build"),
        duration(document.duration_s),
        document.job_id,
    )
}

/// Commits that were excluded.
fn write_unchanged(text: &mut Text, unchanged: &[Unchanged<CombinedCommit>]) -> std::fmt::Result {
    if unchanged.is_empty() {
        return Ok(());
    }
    let commits = unchanged.iter().map(|span| span.commits).sum();
    writeln!(
        text,
        "\n{BOLD}{} excluded{BOLD:#}: the builds on both sides are the same",
        count(commits, "commit")
    )?;
    for span in unchanged {
        writeln!(
            text,
            "  {} after {}, up to {}",
            count(span.commits, "commit"),
            short(&span.after),
            line(&span.last)
        )?;
    }
    Ok(())
}

/// Writes the metric, before the last line.
pub(crate) fn write_metric(text: &mut Text, metric: Option<&MeasuredMetric>) -> std::fmt::Result {
    match metric {
        Some(metric) => writeln!(text, "\n{BOLD}metric{BOLD:#} {}", words::metric(metric)),
        None => writeln!(text),
    }
}

/// Remarks about the runs.
pub(crate) fn write_warnings(text: &mut Text, warnings: &[String]) -> std::fmt::Result {
    for warning in warnings {
        writeln!(text, "\n{FOUND}warning{FOUND:#}: {}", plain(warning))?;
    }
    Ok(())
}

fn headline(text: &mut Text, document: &BisectionResult, display: &Display) -> std::fmt::Result {
    let ends = format!("{} and {}", short(&document.good), short(&document.bad));
    match document.status {
        Status::CulpritFound => Ok(()),
        Status::NoRegression => {
            let other = (document.posterior.as_ref()).and_then(|it| it.other_change.as_ref());
            let better = (document.comparisons.iter().any(is_improvement))
                || other.is_some_and(|other| other.is_better);
            // Likely, but of unknown size.
            let perhaps_better = (document.posterior.as_ref())
                .is_some_and(|posterior| posterior.better > posterior.no_change / 2.0);
            let is_smaller = other.is_some_and(|other| !other.is_better);
            let hidden = document.change_not_excluded().filter(|_| !better);
            let what = if !document.unmeasured.is_empty() {
                only_failures(document)
            } else if document.runs == 0 {
                "their builds are the same"
            } else if better {
                "changed for the better only"
            } else if is_smaller {
                "no change as large as those looked for"
            } else if perhaps_better {
                "no change for the worse was found"
            } else {
                "no difference was found"
            };
            match hidden {
                Some(largest) => writeln!(
                    text,
                    "{GOOD}no regression of more than {}{GOOD:#} between {ends}: smaller ones are \
                     not excluded",
                    size(largest, document.unit.as_deref())
                )?,
                None => writeln!(text, "{GOOD}no regression{GOOD:#} between {ends}: {what}")?,
            }
            if let Some(posterior) = document.posterior.as_ref().filter(|_| document.runs > 0) {
                writeln!(text, "  probability {:.3}", posterior.no_change)?;
                if let Some(largest) = &posterior.largest_change {
                    write_largest_change(text, largest, document.unit.as_deref())?;
                }
                if let Some(other) = &posterior.other_change {
                    let option = match other.is_better {
                        true => "--direction unknown",
                        false => "a smaller --magnitude",
                    };
                    let what = other_change(document, other);
                    writeln!(text, "  {what}; {option} finds its commit")?;
                }
            }
            match document.comparisons.last() {
                Some(last) => write_evidence(text, document, last),
                None => Ok(()),
            }
        }
        Status::Inconclusive => {
            let why = why(&document.stopped);
            writeln!(text, "{FOUND}not decided{FOUND:#} between {ends}: {why}")?;
            let largest = document.posterior.as_ref().and_then(|it| it.largest_change);
            match largest.filter(|_| document.stopped == Stopped::TooNoisy) {
                Some(largest) => write_largest_change(text, &largest, document.unit.as_deref()),
                None => Ok(()),
            }
        }
        Status::Failed => writeln!(text, "{ERROR}failed{ERROR:#}: {}", why(&document.stopped)),
        Status::Canceled => writeln!(
            text,
            "{BOLD}canceled{BOLD:#}; resume with:  {}",
            display.resume_command(&document.job_id)
        ),
        other => writeln!(text, "{BOLD}{}{BOLD:#}", other.as_str()),
    }
}

/// The size of the excluded changes, and the way to exclude smaller ones.
fn write_largest_change(
    text: &mut Text,
    largest: &LargestChange,
    unit: Option<&str>,
) -> std::fmt::Result {
    writeln!(
        text,
        "  no lasting change for the worse of more than {}, {} sure",
        size(largest, unit),
        level(largest.confidence)
    )?;
    if largest.hides_much() {
        writeln!(
            text,
            "  The runs scatter by {} (interquartile range), which hides smaller changes. Ask for\n  \
             them with --magnitude, decide by a quieter --measure, or see with pinpoint doctor\n  \
             what makes this machine noisy.",
            quantity(largest.scatter, unit)
        )?;
    }
    Ok(())
}

/// The ends whose runs all failed. A culprit's own entry covers its failures.
fn write_unmeasured(text: &mut Text, document: &BisectionResult) -> std::fmt::Result {
    if let Status::CulpritFound | Status::Failed = document.status {
        return Ok(());
    }
    for end in &document.unmeasured {
        write!(
            text,
            "  all {} of {} failed",
            count(end.runs.into(), "run"),
            short(&end.commit)
        )?;
        match &end.reason {
            Some(reason) => writeln!(text, ": {}", plain(reason))?,
            None => writeln!(text)?,
        }
    }
    Ok(())
}

fn is_improvement(comparison: &Comparison<CombinedCommit>) -> bool {
    comparison
        .performance
        .as_ref()
        .is_some_and(|performance| performance.is_improvement)
}

pub(crate) fn write_culprit(
    text: &mut Text,
    document: &BisectionResult,
    culprit: &NamedCulprit,
) -> std::fmt::Result {
    let commit = &culprit.blamed;
    let hash = &commit.git_hash;
    match how_lost(document, culprit) {
        Some(how) => writeln!(
            text,
            "{FOUND}culprit{FOUND:#} losing {BOLD}{hash}{BOLD:#}: {how}"
        )?,
        None => writeln!(text, "{FOUND}culprit{FOUND:#} {BOLD}{hash}{BOLD:#}")?,
    }
    if commit.repository != document.good.main.repository {
        writeln!(text, "  in        {}", plain(&commit.repository))?;
        writeln!(text, "  found at  {}", short(&culprit.commit))?;
    } else if !culprit.commit.main.merged.is_empty() {
        writeln!(text, "  found at  {}", short(&culprit.commit))?;
    }
    if let Some(rolled_by) = rolled_by(culprit) {
        writeln!(text, "  rolled by {rolled_by}")?;
    }
    if let Some(subject) = &commit.subject {
        writeln!(text, "  subject   {}", plain(subject))?;
    }
    if let Some(author) = &commit.author {
        writeln!(text, "  author    {}", plain(author))?;
    }
    if let Some(created) = &commit.created {
        writeln!(text, "  date      {created}")?;
    }
    if let Some(others) = alternatives(culprit) {
        writeln!(text, "  or one of {others}")?;
    }
    writeln!(text, "  effect    {}", effect(document, &culprit.effect))?;
    if let Some(probability) = culprit.probability {
        writeln!(text, "  probability {probability:.3}")?;
    }
    if !culprit.other_changes.is_empty() {
        writeln!(text, "  changed with it, and not bisected further:")?;
        for change in &culprit.other_changes {
            writeln!(text, "    {}", dependency_change(change))?;
        }
    }
    let decisive = document.comparisons.iter().rev().find(|comparison| {
        comparison.lower == culprit.prior && comparison.higher == culprit.commit
    });
    if let Some(decisive) = decisive {
        write_evidence(text, document, decisive)?;
    }
    if let Some(Confirmation {
        comparison, reused, ..
    }) = &culprit.confirmation
    {
        let of_the_ends = if *reused { " (of the two ends)" } else { "" };
        match comparison {
            Some(comparison) => writeln!(
                text,
                "  checked   {}{of_the_ends}",
                line_of(comparison, document.unit.as_deref())
            )?,
            None => writeln!(text, "  checked   no: {}", why(&document.stopped))?,
        }
    }
    if let Some(reproduce) = &culprit.reproduce {
        writeln!(text, "  compare the two again:\n    {reproduce}")?;
    }
    Ok(())
}

fn write_evidence(
    text: &mut Text,
    document: &BisectionResult,
    comparison: &Comparison<CombinedCommit>,
) -> std::fmt::Result {
    write!(
        text,
        "  evidence  {} + {} runs: ",
        comparison.lower_runs, comparison.higher_runs
    )?;
    match &comparison.performance {
        Some(performance) => writeln!(text, "{}", of_values(document, performance)),
        None => writeln!(
            text,
            "failures {:.0} % and {:.0} %{}",
            100.0 * comparison.functional.control_rate,
            100.0 * comparison.functional.treatment_rate,
            tests(
                comparison.functional.p_value_mwu,
                comparison.functional.p_value_ks,
                comparison.functional.low_threshold,
            ),
        ),
    }
}

fn of_values(document: &BisectionResult, performance: &PerformanceComparison) -> String {
    let difference = performance
        .mean_diff
        .map_or_else(String::new, |difference| {
            format!(
                "means differ by {}",
                change(difference, document.unit.as_deref())
            )
        });
    let verdict = if performance.is_too_small {
        ", less than a tenth of the magnitude: not tested".to_owned()
    } else if performance.is_improvement {
        ", for the better: not tested".to_owned()
    } else {
        tests(
            performance.p_value_mwu,
            performance.p_value_ks,
            performance.low_threshold,
        )
    };
    format!("{difference}{verdict}")
}

fn tests(mann_whitney: Option<f64>, kolmogorov: Option<f64>, low: Option<f64>) -> String {
    match (mann_whitney, kolmogorov, low) {
        (Some(mann_whitney), Some(kolmogorov), Some(low)) => format!(
            ", Mann-Whitney p = {}, Kolmogorov-Smirnov p = {} (different at {low} or less)",
            p_value(mann_whitney),
            p_value(kolmogorov),
        ),
        _ => String::new(),
    }
}

fn write_candidates(text: &mut Text, document: &BisectionResult) -> std::fmt::Result {
    let candidates = &document.candidates;
    // A further change was not asked for: a sentence says where one may be.
    if candidates.is_empty() || further(document).is_some() {
        return Ok(());
    }
    writeln!(
        text,
        "\n{BOLD}{} that may hold a culprit{BOLD:#}, oldest first",
        count(candidates.len() as u64, "commit")
    )?;
    let (head, tail) = if candidates.len() > MOST_CANDIDATES {
        let half = MOST_CANDIDATES / 2;
        (&candidates[..half], &candidates[candidates.len() - half..])
    } else {
        (&candidates[..], &candidates[..0])
    };
    for commit in head {
        writeln!(text, "  {}", line(commit))?;
    }
    if !tail.is_empty() {
        writeln!(text, "  … {} more", candidates.len() - MOST_CANDIDATES)?;
    }
    for commit in tail {
        writeln!(text, "  {}", line(commit))?;
    }
    match &document.posterior {
        Some(posterior) => write_posterior(text, posterior),
        None => Ok(()),
    }
}

/// The likeliest places of the change, oldest first.
fn write_posterior(text: &mut Text, posterior: &Posterior<CombinedCommit>) -> std::fmt::Result {
    writeln!(text, "\n{BOLD}probability that a culprit is{BOLD:#}")?;
    let mut likeliest: Vec<usize> = (0..posterior.spans.len()).collect();
    likeliest.sort_by(|a, b| {
        let probability = |span: &usize| posterior.spans[*span].probability;
        probability(b).total_cmp(&probability(a)).then(a.cmp(b))
    });
    likeliest.retain(|span| posterior.spans[*span].probability >= LEAST_PROBABILITY);
    likeliest.truncate(MOST_SPANS);
    likeliest.sort_unstable();
    for span in likeliest.into_iter().map(|span| &posterior.spans[span]) {
        let last = short(&span.last);
        match span.commits {
            1 => writeln!(text, "  {:.3}  {last}", span.probability)?,
            several => writeln!(
                text,
                "  {:.3}  one of {} after {}, up to {last}",
                span.probability,
                count(several, "commit"),
                short(&span.after),
            )?,
        }
    }
    writeln!(text, "  {:.3}  none of them", posterior.no_change)
}

/// A dependency that rolled, on one line, and the flag that helps to follow it.
pub(crate) fn dependency_change(change: &DependencyChange) -> String {
    let text = words::dependency_change(change);
    match change.followed {
        Followed::No {
            unavailable: true, ..
        } => format!("{text} ({})", clone_of(&plain(&change.repository))),
        _ => text,
    }
}
