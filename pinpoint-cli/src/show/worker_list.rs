//! Workers in a list, and the reason why a job waits, for people.

use std::fmt::Write;

use pinpoint_backends::job::WaitingReason;
use pinpoint_backends::store::WorkerEntry;
use pinpoint_report::quantity::count;
use pinpoint_report::text::name;

use crate::show::text::{BOLD, DIM, Text};

/// The workers, a line each.
pub(crate) fn render(workers: &[WorkerEntry], now: i64) -> Text {
    let mut text = Text::default();
    let width = |column: fn(&WorkerEntry) -> String| {
        let widths = workers.iter().map(|worker| column(worker).chars().count());
        widths.max().unwrap_or_default()
    };
    let (names, bots) = (width(|worker| name(&worker.name)), width(bots_of));
    for worker in workers {
        let state = match (worker.gone, &worker.job) {
            (true, _) => "gone",
            (false, None) => "idle",
            (false, Some(_)) => "busy",
        };
        // Writing to a string can't fail.
        let _ = write!(
            text,
            "{BOLD}{:<names$}{BOLD:#}  {state}  {:<bots$}  {DIM}{:<7}  {:>10}{DIM:#}",
            name(&worker.name),
            bots_of(worker),
            worker.version,
            ago(worker.seen, now),
        );
        let _ = match &worker.job {
            None if worker.trusted.is_some() => writeln!(text, "  takes signed jobs only"),
            None => writeln!(text),
            Some(job) if worker.gone => match worker.holds {
                Some(seconds) => writeln!(text, "  holds job {job} for {seconds} s more"),
                None => writeln!(text, "  had job {job}"),
            },
            Some(job) if worker.activity.is_empty() => writeln!(text, "  job {job}"),
            Some(job) => writeln!(text, "  job {job}: {}", worker.activity),
        };
    }
    text
}

fn bots_of(worker: &WorkerEntry) -> String {
    let names: Vec<_> = worker.bots.iter().map(|bot| name(bot)).collect();
    names.join(",")
}

/// The rough age of a time.
fn ago(then: i64, now: i64) -> String {
    let seconds = u64::try_from(now.saturating_sub(then)).unwrap_or_default() / 1000;
    match seconds {
        0 => "just now".into(),
        1..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// The reason why a job waits, in a sentence.
pub(crate) fn in_words(waiting: &WaitingReason, now: i64) -> String {
    match waiting {
        WaitingReason::Paused => "it is paused; continue it with `pinpoint jobs resume`".into(),
        WaitingReason::Untrusted => {
            "it was imported, and waits until `pinpoint jobs resume` allows its commands".into()
        }
        WaitingReason::NoWorker {
            bot,
            last_seen: None,
        } => format!("no worker serves bot `{bot}`; `pinpoint worker --bot {bot}` starts one"),
        WaitingReason::NoWorker {
            bot,
            last_seen: Some(seen),
        } => format!(
            "no worker serves bot `{bot}` (the last was seen {})",
            ago(*seen, now)
        ),
        WaitingReason::NotTrusted { bot, signatures } => {
            let altered = signatures.iter().find(|signature| !signature.fits);
            let signers: Vec<_> = { signatures.iter().filter(|it| it.fits) }
                .map(|signature| signature.key.to_string())
                .collect();
            let reason = match (&signers[..], altered) {
                ([], None) => "it is not signed (--sign-with)".into(),
                ([], Some(it)) => format!("it is not as it was when it was signed with {}", it.key),
                (signers, _) => format!("none of them trusts {}", signers.join(", ")),
            };
            format!(
                "workers of bot `{bot}` take only jobs that are signed with a key they trust, and {reason}"
            )
        }
        WaitingReason::Queued { workers, place } => format!(
            "{} busy, and it is {}",
            match workers {
                1 => "the only worker of its bot is".into(),
                _ => format!("all {} of its bot are", count(*workers, "worker")),
            },
            match place {
                1 => "next".into(),
                _ => format!("number {place} in the queue"),
            }
        ),
        WaitingReason::Silent {
            worker,
            seen,
            seconds,
        } => format!(
            "worker {worker} has it, and was last seen {}; in {seconds} s another may take it, \
             unless that one is heard of again",
            ago(*seen, now)
        ),
        WaitingReason::Stuck { reason } => reason.clone(),
        WaitingReason::AboutToBegin => "a worker is about to take it".into(),
    }
}
