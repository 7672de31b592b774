//! The differences between two builds, for people.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_backends::local::Profiler;
use pinpoint_core::profile::{Explanation, FunctionChange, Verdict};
use pinpoint_report::command_line::quoted;
use pinpoint_report::quantity::{count, percent_change, quantity};
use pinpoint_report::text::name;
use pinpoint_report::words::explanation as words;

use crate::job::explanation::about::{About, BuildName};
use crate::show::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// The most functions that are written out.
const MOST_FUNCTIONS: usize = 20;

/// The most that may be chance.
const MOST_UNCERTAIN: usize = 5;

/// The most guesses about renamed functions.
const MOST_RENAMED: usize = 5;

/// The name of a function of which only the module is known.
const NO_SYMBOLS: &str = "[no symbols]";

/// The module of code that is made while a program runs.
const JIT: &str = "[jit]";

/// The most functions of a path: of a longer one, its beginning and its end are shown.
const LONGEST_PATH: usize = 12;

pub(crate) fn render(explanation: &Explanation, about: Option<&About>) -> Text {
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
        words::whole(explanation),
        words::runs(explanation)
    )?;
    if let Some(about) = about {
        write!(text, ", {}", profiler(about))?;
    }
    writeln!(text, ": {}", words::finding(explanation))?;
    if certain.is_empty() {
        if let Some(sentence) = words::detectable(explanation) {
            writeln!(text, "{sentence}")?;
        }
        let uncertain = greatest(explanation);
        if !uncertain.is_empty() {
            let note = words::uncertain(explanation, &uncertain);
            writeln!(text, "\nThe greatest differences, {note}:")?;
            write_functions(text, explanation, &uncertain)?;
            write_unnamed(text, &uncertain)?;
        }
    } else {
        writeln!(text)?;
        let shown = certain.get(..MOST_FUNCTIONS).unwrap_or(&certain);
        write_functions(text, explanation, shown)?;
        if certain.len() > shown.len() {
            writeln!(text, "  … {} more", certain.len() - shown.len())?;
        }
        write_unnamed(text, shown)?;
        write_path(text, explanation)?;
    }
    if let Some(own) = words::own_code(explanation) {
        writeln!(text, "\nown code, with what it calls of others: {own}")?;
    }
    write_parts(text, explanation)?;
    write_moved(text, explanation)?;
    write_renamed(text, explanation)?;
    match about {
        Some(about) => write_about(text, explanation, about),
        None => Ok(()),
    }
}

fn write_renamed(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    // Of two functions of one name, which differ only in their places, no option says more.
    let guesses = { explanation.renamed.iter() }.filter(|guess| guess.base != guess.experiment);
    let guesses: Vec<_> = guesses.collect();
    for guess in guesses.iter().take(MOST_RENAMED) {
        let [guess, names] = words::renamed(guess);
        let advice = format!("if so, compare them with --same {names}");
        writeln!(text, "\nprobably renamed: {guess}\n{DIM}{advice}{DIM:#}")?;
    }
    match guesses.len().saturating_sub(MOST_RENAMED) {
        0 => Ok(()),
        more => writeln!(text, "\n… {more} more that are probably renamed"),
    }
}

/// The profiler in a sentence: a template may be long.
fn profiler(about: &About) -> String {
    match about.profiler.starts_with("command:") {
        true => "the profiler's command".into(),
        false => name(&about.profiler),
    }
}

/// Writes the facts about the job.
fn write_about(text: &mut Text, explanation: &Explanation, about: &About) -> std::fmt::Result {
    if let Some(pairs) = without_profiles(about) {
        writeln!(text, "\n{DIM}{pairs}{DIM:#}")?;
    }
    if let Some([what, why]) = not_in_profiles(explanation, about) {
        writeln!(text, "\n{FOUND}{what}{FOUND:#}: {why}")?;
    }
    if about.shown != Some(false)
        && let Some(waits) = waits(about)
    {
        writeln!(text, "\n{FOUND}{waits}{FOUND:#}")?;
    }
    writeln!(text, "\njob {}", about.job_id)?;
    for line in builds(about) {
        writeln!(text, "{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}

/// The comparison: the two commits, the benchmark, and the counted events.
pub(crate) fn builds(about: &About) -> Vec<String> {
    let build = |build: &BuildName| {
        let subject = build.subject.as_deref().unwrap_or_default();
        let hash = build.commit.get(..10).unwrap_or(&build.commit);
        format!("{hash} {}", name(subject)).trim_end().to_owned()
    };
    let mut lines = Vec::new();
    if let (Some(base), Some(experiment)) = (&about.base, &about.experiment) {
        lines.push(format!("before: {}", build(base)));
        lines.push(format!("after:  {}", build(experiment)));
        lines.push(format!("in {}", name(&experiment.repository)));
    }
    if !about.command.is_empty() {
        lines.push(format!("benchmark: {}", name(&quoted(&about.command))));
    }
    let profiler: Option<Profiler> = about.profiler.parse().ok();
    if let Some(counts) = profiler.and_then(|profiler| profiler.counts()) {
        lines.push(format!("counted: {counts}"));
    }
    lines
}

/// The note that runs wait longer, or less.
fn waits(about: &About) -> Option<String> {
    let wait = about.waits?;
    let seconds = |seconds: f64| quantity(seconds, Some("s"));
    Some(format!(
        "a run waits {} {} ({} before, {} after), by the clock and the processor time of each; no profiler of what runs shows that. `strace -f -w -c` before the benchmark shows the system calls in which",
        seconds(wait.difference().abs()),
        if wait.difference() > 0.0 {
            "longer"
        } else {
            "less"
        },
        seconds(wait.base),
        seconds(wait.experiment),
    ))
}

/// The notes as sentences without their period.
pub(crate) fn notes(explanation: &Explanation, about: &About) -> Vec<String> {
    let whole = not_in_profiles(explanation, about).map(|parts| parts.join(": "));
    let waits = waits(about).filter(|_| whole.is_none());
    let said = without_profiles(about).into_iter().chain(whole);
    said.chain(waits).collect()
}

fn without_profiles(about: &About) -> Option<String> {
    let pairs = about.pairs_without_profiles;
    let reason = about.missing.as_deref();
    let reason = reason.map_or_else(String::new, |reason| format!(", {}", name(reason)));
    (pairs > 0).then(|| format!("without profiles: {}{reason}", count(pairs as u64, "pair")))
}

/// The note that the difference is not in the profiles, and the likely reason.
fn not_in_profiles(explanation: &Explanation, about: &About) -> Option<[String; 2]> {
    let measured = about.measured.filter(|_| about.shown == Some(false))?;
    let relative = explanation.whole.difference / explanation.whole.base;
    let (measured, moved) = (percent_change(measured), percent_change(relative));
    let both = format!(
        "job {} measured {measured}, and under {} the whole moved by {moved}",
        about.explains,
        profiler(about)
    );
    let reason = match about.waiting {
        Some(seconds) => format!(
            "a run waits {} {}, which no profiler of what runs shows. `strace -f -w -c` before the benchmark shows the system calls in which",
            quantity(seconds.abs(), Some("s")),
            if seconds > 0.0 { "longer" } else { "less" }
        ),
        None => format!(
            "{} may be what changed. Look with --profiler {}",
            match explanation.exact {
                true => "waiting, caches and the kernel, which no count of instructions shows,",
                false => "waiting, and what is too short to be sampled,",
            },
            about.alternative
        ),
    };
    let found = "the difference is not in these profiles".into();
    Some([found, format!("{both}; {reason}")])
}

fn greatest(explanation: &Explanation) -> Vec<&FunctionChange> {
    let functions = explanation.functions.iter();
    let differ = functions.filter(|function| {
        function.verdict == Verdict::Uncertain
            && function.own.difference != 0.0
            && words::shown(&function.own) != 0.0
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
            let [difference, interval] = words::difference(&function.own, &explanation.unit);
            [
                name(&function.function.name),
                words::place(&function.function),
                difference,
                interval,
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
        let verdict = words::verdict(&function.verdict);
        // No row ends in blanks.
        let is_last = verdict.is_none() && function.in_diff.is_none();
        match (widths[3], is_last) {
            (0, _) => {}
            (_, true) if interval.is_empty() => {}
            (_, true) => write!(text, "  {interval}")?,
            (width, false) => write!(text, "  {interval:width$}")?,
        }
        let style = style(&function.verdict);
        if let Some(verdict) = verdict {
            write!(
                text,
                "  {style}{verdict}{style:#}{}",
                words::caller(function)
            )?;
        }
        match &function.in_diff {
            Some(found) => writeln!(text, "  {BOLD}{}{BOLD:#}", words::in_diff(found.kind))?,
            None => writeln!(text)?,
        }
    }
    Ok(())
}

fn write_unnamed(text: &mut Text, functions: &[&FunctionChange]) -> std::fmt::Result {
    for advice in on_names(functions) {
        writeln!(text, "\n{DIM}{advice}{DIM:#}")?;
    }
    Ok(())
}

/// Advice on functions of which only the module is known.
fn on_names(functions: &[&FunctionChange]) -> Vec<String> {
    let unnamed = functions.iter().map(|it| &it.function);
    let unnamed = unnamed.filter(|function| function.name == NO_SYMBOLS);
    // Users don't build kernel modules.
    let modules = unnamed.filter_map(|function| function.module.as_deref());
    let (made_at_run_time, modules): (Vec<&str>, Vec<&str>) =
        modules.partition(|module| *module == JIT);
    let mut advice = Vec::new();
    if !made_at_run_time.is_empty() {
        advice.push(format!("{JIT}: code that is made while the program runs has no names; have the runtime write them: java -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit, node --perf-basic-prof, python3 -X perf"));
    }
    let modules = modules
        .into_iter()
        .filter(|module| !module.starts_with('['));
    let modules: Vec<String> = modules.map(name).collect();
    if !modules.is_empty() {
        advice.push(format!(
            "{NO_SYMBOLS}: the functions of {} have no names; build with symbols (-g, and without strip or -s), and record again",
            modules.join(" and ")
        ));
    }
    advice
}

/// Advice on functions without names, if their difference is certain.
pub(crate) fn advice_on_names(explanation: &Explanation) -> Vec<String> {
    let certain: Vec<&FunctionChange> = explanation.certain().take(MOST_FUNCTIONS).collect();
    on_names(&certain)
}

fn style(verdict: &Verdict) -> Style {
    match verdict {
        Verdict::Slower | Verdict::CalledMoreOften | Verdict::New => ERROR,
        Verdict::Faster | Verdict::CalledLessOften | Verdict::Gone => GOOD,
        Verdict::Moved { .. } => FOUND,
        _ => DIM,
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
    match words::spread(explanation) {
        Some(rest) => writeln!(text, "{DIM}{rest}{DIM:#}"),
        None => Ok(()),
    }
}

fn write_parts(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    let threads = words::parts(&explanation.threads, &explanation.unit);
    let categories = words::parts(&explanation.categories, &explanation.unit);
    if threads.is_some() || categories.is_some() {
        writeln!(text)?;
    }
    for (what, parts) in [("by thread", threads), ("by category", categories)] {
        if let Some(parts) = parts {
            writeln!(text, "{what}: {parts}")?;
        }
    }
    Ok(())
}

fn write_moved(text: &mut Text, explanation: &Explanation) -> std::fmt::Result {
    for sentence in words::moved(explanation) {
        writeln!(text, "\nmoved: {sentence}")?;
    }
    Ok(())
}
