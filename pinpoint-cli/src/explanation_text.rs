//! What moved between two builds, for people.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_core::profile::{
    Change, Design, DiffMatchKind, Explanation, FunctionChange, ProfileUnit, Verdict,
};
use pinpoint_report::quantity::{change, count, quantity};
use pinpoint_report::text::name;

use crate::explain::job::About;
use crate::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// At most this many functions are written out.
const MOST_FUNCTIONS: usize = 20;

/// At most this many of those that may be chance.
const MOST_UNCERTAIN: usize = 5;

/// At most this many functions of the path: of a longer one, its beginning and its end.
const LONGEST_PATH: usize = 12;

pub(crate) fn of(explanation: &Explanation, about: Option<&About>) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, explanation, about);
    text
}

fn write(text: &mut Text, explanation: &Explanation, about: Option<&About>) -> std::fmt::Result {
    let certain: Vec<&FunctionChange> = explanation.certain().collect();
    write!(
        text,
        "{BOLD}{}{BOLD:#}, {}",
        whole(explanation),
        runs(explanation)
    )?;
    if let Some(about) = about {
        write!(text, ", {}", name(&about.profiler))?;
    }
    if certain.is_empty() {
        writeln!(text, ": no function is certain")?;
        write_detectable(text, explanation)?;
        let uncertain = greatest(explanation);
        if !uncertain.is_empty() {
            let note = if explanation.exact {
                "smaller than 0.1 %"
            } else {
                "may be chance"
            };
            writeln!(text, "\nThe greatest differences, {note}:")?;
            write_functions(text, explanation, &uncertain)?;
        }
    } else {
        let functions = count(certain.len() as u64, "function");
        match share(&certain) {
            Some(share) => writeln!(text, ": {share} of it in {functions}")?,
            None => writeln!(text, ": {functions} moved")?,
        }
        writeln!(text)?;
        let shown = certain.get(..MOST_FUNCTIONS).unwrap_or(&certain);
        write_functions(text, explanation, shown)?;
        if certain.len() > shown.len() {
            writeln!(text, "  … {} more", certain.len() - shown.len())?;
        }
        write_path(text, explanation)?;
    }
    write_moved(text, explanation)?;
    for guess in &explanation.renamed {
        let (old, new) = (name(&guess.base), name(&guess.experiment));
        writeln!(
            text,
            "\nprobably renamed: {old} is now {new} (callers and callees are {} alike)\n{DIM}if so, compare them with --same '{old}={new}'{DIM:#}",
            percent(guess.alike)
        )?;
    }
    match about {
        Some(about) => write_about(text, explanation, about),
        None => Ok(()),
    }
}

/// What the job that is explained says about it.
fn write_about(text: &mut Text, explanation: &Explanation, about: &About) -> std::fmt::Result {
    if about.pairs_without_profiles > 0 {
        let pairs = count(about.pairs_without_profiles as u64, "pair");
        write!(text, "\n{DIM}without profiles: {pairs}")?;
        if let Some(reason) = &about.missing {
            write!(text, ", {}", name(reason))?;
        }
        writeln!(text, "{DIM:#}")?;
    }
    let (Some(measured), Some(false)) = (about.measured, about.shown) else {
        return Ok(());
    };
    let relative = explanation.whole.difference / explanation.whole.base;
    writeln!(
        text,
        "\n{FOUND}the difference is not in these profiles{FOUND:#}: job {} measured {:+.1} %, and under {} the whole moved by {:+.1} %; waiting, and what is too short to be sampled, may be what changed. Look with --profiler {}",
        about.explains,
        measured * 100.0,
        name(&about.profiler),
        relative * 100.0,
        about.alternative
    )
}

/// The whole difference, in the unit and in percent.
fn whole(explanation: &Explanation) -> String {
    let whole = &explanation.whole;
    let difference = signed(whole.difference, &explanation.unit);
    let relative = whole.difference / whole.base * 100.0;
    if relative.is_finite() {
        format!("{difference} ({relative:+.1} %)")
    } else {
        difference
    }
}

fn runs(explanation: &Explanation) -> String {
    let (base, experiment) = (explanation.base_runs, explanation.experiment_runs);
    match explanation.design {
        Design::Pairs => count(base as u64, "pair"),
        Design::Groups if base == experiment => {
            format!("{} a side", count(base as u64, "run"))
        }
        Design::Groups => format!("{base} runs against {experiment}"),
    }
}

/// What a weight of the profile is in the units of people.
fn in_unit(value: f64, unit: &ProfileUnit) -> (f64, String) {
    match unit {
        ProfileUnit::Nanoseconds => (value / 1e9, "s".into()),
        other => (value, other.to_string()),
    }
}

fn signed(value: f64, unit: &ProfileUnit) -> String {
    let (value, unit) = in_unit(value, unit);
    change(value, Some(&unit))
}

fn amount(value: f64, unit: &ProfileUnit) -> String {
    let (value, unit) = in_unit(value, unit);
    quantity(value, Some(&unit))
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// How much of the whole difference these are. Where they cancel out, a part says nothing.
fn share(functions: &[&FunctionChange]) -> Option<String> {
    let shares: Option<f64> = functions.iter().map(|function| function.share).sum();
    shares
        .filter(|share| (0.0..=1.5).contains(share))
        .map(percent)
}

fn greatest(explanation: &Explanation) -> Vec<&FunctionChange> {
    let functions = explanation.functions.iter();
    let differ = functions.filter(|function| {
        function.verdict == Verdict::Uncertain && function.own.difference != 0.0
    });
    differ.take(MOST_UNCERTAIN).collect()
}

fn write_functions(
    text: &mut Text,
    explanation: &Explanation,
    functions: &[&FunctionChange],
) -> std::fmt::Result {
    let rows: Vec<[String; 4]> = functions
        .iter()
        .map(|function| {
            [
                name(&function.function.name),
                place(function),
                signed(shown(&function.own), &explanation.unit),
                interval(&function.own, &explanation.unit),
            ]
        })
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3].map(width);
    for (row, function) in rows.iter().zip(functions) {
        let [name, place, difference, interval] = row;
        write!(
            text,
            "  {name:0$}  {place:1$}  {difference:>2$}",
            widths[0], widths[1], widths[2]
        )?;
        if widths[3] > 0 {
            write!(text, "  {interval:0$}", widths[3])?;
        }
        let style = style(&function.verdict);
        if let Some(verdict) = verdict(function) {
            write!(text, "  {style}{verdict}{style:#}{}", caller(function))?;
        }
        match &function.in_diff {
            Some(found) => writeln!(text, "  {BOLD}{}{BOLD:#}", in_diff(found.kind))?,
            None => writeln!(text)?,
        }
    }
    Ok(())
}

/// The estimate, or the difference of the means where there are too few runs for one.
fn shown(change: &Change) -> f64 {
    change.estimate.unwrap_or(change.difference)
}

fn interval(change: &Change, unit: &ProfileUnit) -> String {
    match change.interval {
        Some(interval) => {
            format!(
                "[{}, {}]",
                signed(interval.low, unit),
                signed(interval.high, unit)
            )
        }
        None => String::new(),
    }
}

/// Where a function is: its package if it is not the program's own, or its file, or at
/// least its module.
fn place(function: &FunctionChange) -> String {
    let function = &function.function;
    let short = |path: &str| {
        let parts: Vec<&str> = path.rsplit(['/', '\\']).take(2).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    let place = match (&function.package, &function.file, function.line) {
        (Some(package), ..) => package.clone(),
        (None, Some(file), Some(line)) => format!("{}:{line}", short(file)),
        (None, Some(file), None) => short(file),
        (None, None, _) => function.module.clone().unwrap_or_default(),
    };
    name(&place)
}

fn verdict(function: &FunctionChange) -> Option<&'static str> {
    match function.verdict {
        Verdict::Slower => Some("more"),
        Verdict::Faster => Some("less"),
        Verdict::CalledMoreOften => Some("called more often"),
        Verdict::CalledLessOften => Some("called less often"),
        Verdict::New => Some("new"),
        Verdict::Gone => Some("gone"),
        Verdict::Moved { .. } | Verdict::Uncertain => None,
    }
}

fn style(verdict: &Verdict) -> Style {
    match verdict {
        Verdict::Slower | Verdict::CalledMoreOften | Verdict::New => ERROR,
        Verdict::Faster | Verdict::CalledLessOften | Verdict::Gone => GOOD,
        Verdict::Moved { .. } => FOUND,
        Verdict::Uncertain => DIM,
    }
}

fn caller(function: &FunctionChange) -> String {
    match (&function.verdict, &function.called_by) {
        (Verdict::New | Verdict::Gone, Some(caller)) => format!(", called by {}", name(caller)),
        _ => String::new(),
    }
}

fn in_diff(kind: DiffMatchKind) -> &'static str {
    match kind {
        DiffMatchKind::Lines => "in the diff",
        DiffMatchKind::Name => "named in the diff",
        DiffMatchKind::File => "its file is in the diff",
    }
}

fn write_path(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    let names: Vec<String> = explanation
        .path
        .iter()
        .map(|step| name(&step.name))
        .collect();
    let shown = if names.len() > LONGEST_PATH {
        let (begin, end) = (
            &names[..LONGEST_PATH / 2],
            &names[names.len() - LONGEST_PATH / 2..],
        );
        [begin, &["…".to_owned()], end].concat()
    } else {
        names
    };
    if !shown.is_empty() {
        writeln!(text, "\n{}", shown.join(" › "))?;
    }
    let certain: Vec<&FunctionChange> = explanation.certain().collect();
    let shares: Option<f64> = certain.iter().map(|function| function.share).sum();
    match shares
        .map(|shares| 1.0 - shares)
        .filter(|left| (0.005..1.0).contains(left))
    {
        Some(left) => writeln!(
            text,
            "{DIM}the other {} is spread, no function certain{DIM:#}",
            percent(left)
        ),
        None => Ok(()),
    }
}

fn write_moved(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    for (index, function) in explanation.functions.iter().enumerate() {
        // Each pair once.
        let Verdict::Moved { with } = function.verdict else {
            continue;
        };
        let Some(other) = explanation.functions.get(with).filter(|_| index < with) else {
            continue;
        };
        let (from, to) = match function.own.difference < 0.0 {
            true => (function, other),
            false => (other, function),
        };
        writeln!(
            text,
            "\nmoved: {} from {} to {}, as inlining does; no change by itself",
            amount(from.own.difference.abs(), &explanation.unit),
            name(&from.function.name),
            name(&to.function.name)
        )?;
    }
    Ok(())
}

fn write_detectable(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    let Some(detectable) = explanation.detectable else {
        return Ok(());
    };
    let what = match explanation.design {
        Design::Pairs => "pair",
        Design::Groups => "run",
    };
    let each = match explanation.design {
        Design::Pairs => "",
        Design::Groups => " of each side",
    };
    let functions = count(detectable.functions as u64, "function");
    let needed = count(detectable.runs_needed as u64, what);
    match detectable.smallest {
        Some(smallest) => writeln!(
            text,
            "{} or more in any of the {functions} compared would have been seen; {needed}{each} would show half of that",
            amount(smallest, &explanation.unit)
        ),
        None => writeln!(
            text,
            "so few runs can't be certain of one among {functions}, however large its difference: record {needed}{each}"
        ),
    }
}
