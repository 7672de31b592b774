//! `pinpoint doctor`: sources of noise on this machine, and the check before a job.

use std::fmt::Write;
use std::time::Duration;

use pinpoint_backends::local::doctor::{Cause, Diagnosis, Finding, Severity, THOROUGHLY, examine};
use pinpoint_backends::local::{CpuList, LocalError, default_machine_dir};
use pinpoint_report::quantity::{count, quantity};
use pinpoint_report::words::smallest_change;
use serde_json::json;

use crate::advice;
use crate::arguments::{Display, Doctor, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{errln, print, print_json};
use crate::show::text::{BOLD, DIM, ERROR, FOUND as WARNING, Text, text};

/// The version of the document.
const VERSION: u32 = 1;

/// The time for which the machine is examined before a job.
const AT_START: Duration = Duration::from_millis(250);

/// The findings that a warning names.
const MOST_WARNED_OF: usize = 2;

pub(crate) async fn run(arguments: Doctor, display: Display) -> Result<u8, CliError> {
    let diagnosis = examined(THOROUGHLY, arguments.cpu).await?;
    match display.output {
        Output::Json => {
            let mut document = json!(diagnosis);
            document["version"] = VERSION.into();
            print_json(format_args!("{document:#}"));
        }
        Output::Text => print(format_args!("{}", shown(&diagnosis))),
    }
    Ok(FOUND)
}

/// Examines the machine on which a job starts, and warns of a bad state. Absent if that is turned
/// off.
pub(crate) async fn at_start(cpus: Option<CpuList>, display: &Display) -> Option<Diagnosis> {
    if !is_wanted() {
        return None;
    }
    // The executor reports invalid processors later.
    let diagnosis = examined(AT_START, cpus).await.ok()?;
    if let Some(warning) = warning(&diagnosis).filter(|_| !display.quiet) {
        errln!("{warning}");
    }
    Some(diagnosis)
}

/// Returns true if the machine is to be examined before a job.
pub(crate) fn is_wanted() -> bool {
    std::env::var_os("PINPOINT_DOCTOR").is_none_or(|value| value != "off")
}

async fn examined(time: Duration, cpus: Option<CpuList>) -> Result<Diagnosis, CliError> {
    let examine = move || examine(time, cpus.as_ref(), &default_machine_dir());
    match tokio::task::spawn_blocking(examine).await {
        Ok(diagnosis) => Ok(diagnosis?),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_shut_down) => Err(LocalError::ShutDown.into()),
        },
    }
}

/// A diagnosis for people.
fn shown(diagnosis: &Diagnosis) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, diagnosis);
    text
}

fn write(text: &mut Text, diagnosis: &Diagnosis) -> std::fmt::Result {
    if let Some(times) = &diagnosis.times {
        let processors = match diagnosis.readings.processors {
            Some(processors) => format!(" on {}", count(processors as u64, "processor")),
            None => String::new(),
        };
        writeln!(
            text,
            "{BOLD}the same work {} times{BOLD:#}{processors}: {} each (median)",
            times.pieces,
            quantity(times.median, Some("s"))
        )?;
        writeln!(
            text,
            "its time scatters by {} (interquartile range), its processor time by {};\n\
             for {} of the time it was not on a processor",
            percent(times.scatter),
            percent(times.processor_scatter),
            percent(times.off_processor)
        )?;
        writeln!(text, "{BOLD}{}{BOLD:#}", smallest_change(times))?;
    }
    if diagnosis.findings.is_empty() {
        writeln!(text, "\nnothing was found that disturbs measurements")?;
    }
    for finding in &diagnosis.findings {
        write_finding(text, finding)?;
    }
    writeln!(
        text,
        "\n{DIM}a benchmark scatters in ways of its own: `pinpoint plan` measures that{DIM:#}"
    )
}

fn write_finding(text: &mut Text, finding: &Finding) -> std::fmt::Result {
    let (style, word) = match finding.severity {
        Severity::High => (ERROR, "high"),
        Severity::Medium => (WARNING, "medium"),
        _ => (DIM, "low"),
    };
    writeln!(text, "\n{style}{word:>6}{style:#}  {}", finding.seen)?;
    write!(text, "        {}", finding.remedy)?;
    match advice::on_cause(finding.cause) {
        Some(advice) => writeln!(text, " ({advice})"),
        None => writeln!(text),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// The warning of a machine in a bad state.
fn warning(diagnosis: &Diagnosis) -> Option<Text> {
    let bad = diagnosis.findings.iter();
    let bad = bad.filter(|finding| finding.severity == Severity::High);
    // Where the kernel reports a bad cause, its effects in the loop are not named as well.
    let (effects, causes): (Vec<_>, Vec<_>) =
        bad.partition(|finding| matches!(finding.cause, Cause::Interruptions | Cause::Pace));
    let named = if causes.is_empty() { effects } else { causes };
    let seen: Vec<&str> = (named.iter().take(MOST_WARNED_OF))
        .map(|finding| finding.seen.as_str())
        .collect();
    (!seen.is_empty()).then(|| {
        text!(
            "{WARNING}warning:{WARNING:#} this machine is noisy: {}. `pinpoint doctor` says what to do",
            seen.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::screen_tests::styles_shown;

    /// A diagnosis with a finding of each cause and severity.
    fn diagnosis(findings: &[(&str, &str)]) -> Diagnosis {
        let finding = |(cause, severity): &(&str, &str)| {
            json!({
                "cause": cause,
                "severity": severity,
                "seen": format!("a {cause} of {severity} severity \u{1b}[2J"),
                "remedy": "End it.",
            })
        };
        let document = json!({
            "readings": { "processors": 2 },
            "times": {
                "pieces": 250,
                "median": 0.01012,
                "scatter": 0.0042,
                "processor_scatter": 0.001,
                "off_processor": 0.000_15,
                "smallest_change": 0.0042,
            },
            "findings": findings.iter().map(finding).collect::<Vec<_>>(),
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_noisy_machine() {
        let findings = [("load", "high"), ("governor", "medium"), ("turbo", "low")];
        let shown = shown(&diagnosis(&findings));
        insta::assert_snapshot!(styles_shown(&shown));
    }

    #[test]
    fn a_quiet_machine() {
        insta::assert_snapshot!(styles_shown(&shown(&diagnosis(&[]))));
    }

    #[test]
    fn only_a_bad_state_is_warned_of() {
        let of = |findings: &[(&str, &str)]| warning(&diagnosis(findings));
        assert_eq!(of(&[("load", "medium"), ("turbo", "low")]), None);
        let effects = [("interruptions", "high"), ("pace", "high")];
        let warning = |findings: &[(&str, &str)]| styles_shown(&of(findings).unwrap());
        insta::assert_snapshot!(warning(&effects));
        let causes = [("load", "high"), ("battery", "high"), ("swap", "high")];
        insta::assert_snapshot!(warning(&[&effects[..], &causes].concat()));
    }
}
