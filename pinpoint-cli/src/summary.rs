//! The result of a bisection, for people.

use std::fmt::Write;

use pinpoint_core::{
    CombinedCommit, Commit, Comparison, DependencyChange, Effect, EffectOf, Followed,
    LargestChange, PerformanceComparison, Posterior, Status, Stopped, Unchanged,
};

use crate::advice::clone_of;
use crate::arguments::Display;
use crate::pairwise_summary::line_of;
use crate::quantity::{change, count, duration, level, p_value, quantity};
use crate::storage::resume_command;
pub(crate) use crate::text::{BOLD, DIM, ERROR, FOUND, GOOD, plain};
use crate::text::{Text, name, shortened};
use pinpoint_core::job::{BisectionResult, Confirmation, NamedCulprit};

/// At most this many commits of a range are written out.
const MOST_CANDIDATES: usize = 20;

/// At most this many spans of a posterior are written out, and none that is less
/// probable than this.
const MOST_SPANS: usize = 10;
const LEAST_PROBABILITY: f64 = 0.001;

/// The short name of a state where there is little room: `1f2e3d4c5b`, followed by
/// what is held elsewhere, `skia@4c5b6a7980`.
pub(crate) fn short(state: &CombinedCommit) -> String {
    let mut text = short_commit(&state.main);
    for held in &state.modified_deps {
        let name = repository_name(&held.commit.repository);
        let _ = write!(text, " {name}@{}", short_commit(&held.commit));
    }
    text
}

/// The beginning of a hash, with those merged into it.
fn short_commit(commit: &Commit) -> String {
    // A build that was made already.
    if commit.git_hash.is_empty() {
        return plain(&commit.repository).into_owned();
    }
    let start = |hash: &str| plain(hash.get(..10).unwrap_or(hash)).into_owned();
    let hashes = std::iter::once(&commit.git_hash).chain(&commit.merged);
    let hashes: Vec<String> = hashes.map(|hash| start(hash)).collect();
    hashes.join("+")
}

/// The last part of a URL or path, as people call the repository.
pub(crate) fn repository_name(repository: &str) -> String {
    let name = repository.trim_end_matches('/');
    let name = name.rsplit(['/', ':']).next().unwrap_or(name);
    plain(name.strip_suffix(".git").unwrap_or(name)).into_owned()
}

/// A state on one line, with the subject of what was moved last.
pub(crate) fn line(state: &CombinedCommit) -> String {
    let moved = match state.modified_deps.last() {
        Some(held) => &held.commit,
        None => &state.main,
    };
    let subject = plain(moved.subject.as_deref().unwrap_or_default());
    format!("{} {subject}", short(state)).trim_end().to_owned()
}

/// The longest reason that is written out.
const LONGEST_REASON: usize = 4_096;

/// The reason for a failure, in the words of others: on any number of lines, but not of
/// any length.
pub(crate) fn reason(text: &str) -> String {
    shortened(&plain(text), LONGEST_REASON).into_owned()
}

pub(crate) fn of(document: &BisectionResult, display: &Display) -> Text {
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
    writeln!(
        text,
        "\n{DIM}{}, {} in {}; job {}{DIM:#}",
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
            let better = (document.comparisons.iter().any(is_improvement))
                || (document.posterior.as_ref())
                    .is_some_and(|posterior| posterior.better > posterior.no_change / 2.0);
            let what = if !document.unmeasured.is_empty() {
                only_failures(document)
            } else if document.runs == 0 {
                "their builds are the same"
            } else if better {
                "changed for the better only"
            } else {
                "no difference was found"
            };
            writeln!(text, "{GOOD}no regression{GOOD:#} between {ends}: {what}")?;
            if let Some(posterior) = document.posterior.as_ref().filter(|_| document.runs > 0) {
                writeln!(text, "  probability {:.3}", posterior.no_change)?;
                if let Some(largest) = &posterior.largest_change {
                    write_largest_change(text, largest, document.unit.as_deref())?;
                }
            }
            match document.comparisons.last() {
                Some(last) => write_evidence(text, document, last),
                None => Ok(()),
            }
        }
        Status::Inconclusive => writeln!(
            text,
            "{FOUND}not decided{FOUND:#} between {ends}: {}",
            why(&document.stopped)
        ),
        Status::Failed => writeln!(text, "{ERROR}failed{ERROR:#}: {}", why(&document.stopped)),
        Status::Canceled => writeln!(
            text,
            "{BOLD}canceled{BOLD:#}; resume with:  {}",
            resume_command(display, &document.job_id)
        ),
    }
}

/// A change that is not excluded is worth looking for if it may be larger than this.
const WORTH_LOOKING_FOR: f64 = 0.05;

/// The size of the changes that are excluded, and what would exclude smaller ones.
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
    let is_large = |relative| relative > WORTH_LOOKING_FOR;
    if largest.relative.is_none_or(is_large) {
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

/// The size of the largest change that is not excluded.
pub(crate) fn size(largest: &LargestChange, unit: Option<&str>) -> String {
    let amount = quantity(largest.amount, unit);
    match largest.relative {
        Some(relative) if relative < 0.001 => format!("0.1 % ({amount})"),
        Some(relative) => format!("{:.1} % ({amount})", 100.0 * relative),
        None => amount,
    }
}

/// That the values of the two ends were not compared, as an end has none.
pub(crate) fn only_failures(document: &BisectionResult) -> &'static str {
    match document.unmeasured.len() {
        1 => "one end gave no value, and only failures were compared",
        _ => "nothing was measured, as neither end gave a value; only failures were compared",
    }
}

/// The ends whose runs all failed. What a culprit did says it itself.
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

/// What was left open after culprits were found, and the reason.
pub(crate) fn further(document: &BisectionResult) -> Option<String> {
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

pub(crate) fn why(stopped: &Stopped) -> String {
    match stopped {
        Stopped::Decided => "no single commit explains what was measured".into(),
        Stopped::Unlisted { reason } => format!(
            "what lies between two neighbours could not be listed: {}",
            plain(reason)
        ),
        Stopped::NothingToLearn => "more runs would add little information".into(),
        Stopped::RunBudget => "the budget of runs does not allow the next comparison".into(),
        Stopped::BuildBudget => "the budget of builds does not allow the next commit".into(),
        Stopped::TimeBudget => "the time budget is used up".into(),
        Stopped::Canceled => "it was canceled".into(),
        Stopped::Failed { commit, reason } => match commit {
            Some(pinpoint_core::Position::Lower) => {
                format!("the good end can't be measured: {}", self::reason(reason))
            }
            Some(_) => format!("the bad end can't be measured: {}", self::reason(reason)),
            None => self::reason(reason),
        },
    }
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
    if culprit.undone {
        writeln!(
            text,
            "{FOUND}culprit{FOUND:#} losing {BOLD}{hash}{BOLD:#}, which a roll reverted"
        )?;
    } else {
        writeln!(text, "{FOUND}culprit{FOUND:#} {BOLD}{hash}{BOLD:#}")?;
    }
    if commit.repository != document.good.main.repository {
        writeln!(text, "  in        {}", plain(&commit.repository))?;
        writeln!(text, "  found at  {}", short(&culprit.commit))?;
    } else if !culprit.commit.main.merged.is_empty() {
        writeln!(text, "  found at  {}", short(&culprit.commit))?;
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
    if let Some(Confirmation { comparison, reused }) = &culprit.confirmation {
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

/// A dependency that rolled, on one line.
pub(crate) fn dependency_change(change: &DependencyChange) -> String {
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
        Followed::Forward => {}
        Followed::Backward => text.push_str(", set back"),
        Followed::No {
            reason,
            unavailable,
        } => {
            let _ = write!(text, ": {}", self::reason(reason));
            if *unavailable {
                let _ = write!(text, " ({})", clone_of(&plain(&change.repository)));
            }
        }
    }
    text
}

/// By how many percent values differ, when a number says it.
pub(crate) fn percent(effect: &Effect) -> Option<f64> {
    relative(effect.estimate?, effect)
}

/// A difference in percent of the level before it.
fn relative(difference: f64, effect: &Effect) -> Option<f64> {
    let percent = 100.0 * (difference / effect.before.abs());
    percent.is_finite().then_some(percent)
}

/// By how much two commits differ, on one line.
pub(crate) fn effect(document: &BisectionResult, effect: &Effect) -> String {
    let level = level(effect.confidence);
    match effect.of {
        EffectOf::Values => {
            let unit = document.unit.as_deref();
            let chart = name(document.chart.as_deref().unwrap_or("value"));
            let mut text = format!(
                "{chart} {} → {}",
                quantity(effect.before, unit),
                quantity(effect.after, unit),
            );
            if let Some(estimate) = effect.estimate {
                let _ = write!(text, ": {}", change(estimate, unit));
            }
            if let Some(percent) = percent(effect) {
                let _ = write!(text, " ({percent:+.1} %)");
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
                    let _ = write!(text, " ({low:+.1} to {high:+.1} %)");
                }
            }
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
            text
        }
    }
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
    if candidates.is_empty() {
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
