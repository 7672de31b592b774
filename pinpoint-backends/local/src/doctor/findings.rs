//! Disturbances of measurements, and their remedies: a pure function of readings and the times of
//! the loop.

use serde::{Deserialize, Serialize};

use super::loop_times::LoopTimes;
use super::readings::Readings;

/// The severity of a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Severity {
    /// Now, and by so much that results may be wrong.
    High,
    /// Changes of some percent may be lost.
    Medium,
    /// It matters for changes of about a percent.
    Low,
}

/// The kind of a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Other processes.
    Load,
    /// The hypervisor runs something else.
    Steal,
    /// The processor is too hot.
    ThermalThrottling,
    /// The machine runs on its battery.
    Battery,
    /// Memory is swapped to disk.
    Swap,
    /// The control group may not use all processors.
    Quota,
    /// The loop was taken off its processor.
    Interruptions,
    /// The loop's pace changed while it was on a processor.
    Pace,
    /// Another job.
    OtherJob,
    /// The policy for the clock rate.
    Governor,
    /// The clock rate is below the highest one.
    ClockRate,
    /// The clock rate depends on the temperature and on other cores.
    Turbo,
    /// Two threads share a core.
    HyperThreads,
    /// Each process has its memory at other addresses.
    AddressRandomization,
    /// The host of a virtual machine is not visible.
    VirtualMachine,
}

/// A disturbance of measurements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind.
    pub cause: Cause,
    /// Its severity.
    pub severity: Severity,
    /// The observation, as half a sentence.
    pub seen: String,
    /// Advice, in whole sentences.
    pub remedy: String,
}

/// The severity of a load by other processes.
pub(in super::super) fn severity_of_load(busy: f64, processors: usize) -> Option<Severity> {
    let processors = processors as f64;
    if busy >= 0.25 * processors || processors - busy < 0.9 {
        Some(Severity::High)
    } else if busy >= 0.1 * processors {
        Some(Severity::Medium)
    } else {
        None
    }
}

/// Medium from the first value on, high from the second.
fn above(value: f64, medium: f64, high: f64) -> Option<Severity> {
    if value >= high {
        Some(Severity::High)
    } else if value >= medium {
        Some(Severity::Medium)
    } else {
        None
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent >= 10.0 => format!("{percent:.0} %"),
        _ if percent >= 1.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// `1 process`, `2 processes`.
fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

/// All findings, the worst first.
pub(super) fn findings(readings: &Readings, times: Option<&LoopTimes>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        load(readings),
        steal(readings),
        throttling(readings),
        battery(readings),
        swap(readings),
        quota(readings),
        times.and_then(interruptions),
        times.and_then(pace),
        other_job(readings),
        governor(readings),
        clock_rate(readings),
        turbo(readings),
        hyper_threads(readings),
        address_randomization(readings),
        virtual_machine(readings),
    ]
    .into_iter()
    .flatten()
    .collect();
    if readings.other_job == Some(true) {
        // It does not run during a run: jobs take turns.
        for finding in &mut findings {
            if matches!(
                finding.cause,
                Cause::Load | Cause::Interruptions | Cause::Pace
            ) {
                finding.severity = finding.severity.max(Severity::Medium);
            }
        }
    }
    // The order of the causes decides among findings that are equally severe.
    findings.sort_by_key(|finding| (finding.severity, finding.cause));
    findings
}

fn found(
    cause: Cause,
    severity: Severity,
    seen: impl Into<String>,
    remedy: impl Into<String>,
) -> Option<Finding> {
    Some(Finding {
        cause,
        severity,
        seen: seen.into(),
        remedy: remedy.into(),
    })
}

fn load(readings: &Readings) -> Option<Finding> {
    let processors = readings.processors?;
    let busy = readings.busy?;
    let load = readings.load.unwrap_or_default();
    let now = severity_of_load(busy, processors);
    // The load average covers the last minute.
    let lately = severity_of_load(load, processors).map(|_| Severity::Low);
    let severity = now.or(lately)?;
    let processors = count(processors as u64, "processor", "processors");
    if now.is_none() {
        return found(
            Cause::Load,
            severity,
            format!(
                "the load average of the last minute is {load:.2} on {processors}, although it is \
                 quiet now"
            ),
            "Look at what comes and goes here: timers, indexers, updates.",
        );
    }
    let mut seen = format!("other processes keep {busy:.2} of {processors} busy");
    let programs = readings.busiest.iter().map(|program| {
        let processes = match program.processes {
            1 => String::new(),
            more => format!(" ({more} processes)"),
        };
        format!("{}{processes} {:.2}", program.name, program.processors)
    });
    let programs: Vec<String> = programs.collect();
    if !programs.is_empty() {
        seen += &format!(": {}", programs.join(", "));
    }
    if let Some(pressure) = readings.pressure.filter(|pressure| *pressure >= 0.05) {
        seen += &format!(
            "; in {} of the last ten seconds something waited for a processor",
            percent(pressure)
        );
    }
    found(
        Cause::Load,
        severity,
        seen,
        "End them, or wait until they have ended.",
    )
}

fn steal(readings: &Readings) -> Option<Finding> {
    let stolen = readings.stolen?;
    found(
        Cause::Steal,
        above(stolen, 0.01, 0.05)?,
        format!(
            "the hypervisor gave {} of this machine's processor time to others (steal)",
            percent(stolen)
        ),
        "Measure on a physical machine, or on one with dedicated processors. Here, compare in \
         pairs of runs.",
    )
}

fn throttling(readings: &Readings) -> Option<Finding> {
    let total = readings.throttled_since_start.filter(|times| *times > 0)?;
    let times = |number| count(number, "time", "times");
    let (severity, seen) = match readings.throttled.unwrap_or_default() {
        0 => (
            Severity::Low,
            format!(
                "heat has slowed the processor down {} since the machine started",
                times(total)
            ),
        ),
        now => (
            Severity::High,
            format!("heat slowed the processor down {} just now", times(now)),
        ),
    };
    found(
        Cause::ThermalThrottling,
        severity,
        seen,
        "Cool the machine better, lower the highest clock rate (`sudo cpupower frequency-set -u \
         2GHz`), or leave pauses between runs.",
    )
}

fn battery(readings: &Readings) -> Option<Finding> {
    readings.on_battery.filter(|is_on| *is_on)?;
    found(
        Cause::Battery,
        Severity::High,
        "the machine runs on its battery and saves power",
        "Plug it in.",
    )
}

fn swap(readings: &Readings) -> Option<Finding> {
    let remedy = "End what needs the memory, or run on a machine with more.";
    match readings.pages_swapped {
        Some(pages) if pages > 0 => found(
            Cause::Swap,
            Severity::High,
            format!(
                "memory is short: {} moved between memory and swap just now",
                count(pages, "page", "pages")
            ),
            remedy,
        ),
        _ => {
            let used = readings.swap_used.filter(|bytes| *bytes > 0)? as f64;
            found(
                Cause::Swap,
                Severity::Low,
                format!("{:.0} MiB of memory are in swap", used / f64::from(1 << 20)),
                remedy,
            )
        }
    }
}

fn quota(readings: &Readings) -> Option<Finding> {
    let quota = readings.quota?;
    let limit = format!("this control group may use {quota:.2} processors");
    let (severity, seen) = match readings.quota_stops.unwrap_or_default() {
        0 => (Severity::Medium, limit),
        stops => (
            Severity::High,
            format!(
                "{limit}, and was stopped {} for it just now",
                count(stops, "time", "times")
            ),
        ),
    };
    found(
        Cause::Quota,
        severity,
        seen,
        "Lift the limit (cpu.max; `docker run` without `--cpus`), or keep what runs below it: \
         above, it stands still until the next period.",
    )
}

fn interruptions(times: &LoopTimes) -> Option<Finding> {
    let off = times.off_processor;
    found(
        Cause::Interruptions,
        above(off, 0.02, 0.1)?,
        format!(
            "a loop was off the processor for {} of its time",
            percent(off)
        ),
        "Something else ran in its place: another process, or an interrupt. Processor time \
         scatters less here than wall-clock time.",
    )
}

fn pace(times: &LoopTimes) -> Option<Finding> {
    let scatter = times.processor_scatter;
    found(
        Cause::Pace,
        above(scatter, 0.01, 0.05)?,
        format!(
            "the same work takes processor times that differ by {} (interquartile range)",
            percent(scatter)
        ),
        "The clock rate changes, or others share the core, its caches or the host. Keep the \
         clock rate constant, and the core's other thread idle.",
    )
}

fn other_job(readings: &Readings) -> Option<Finding> {
    readings.other_job.filter(|is_there| *is_there)?;
    found(
        Cause::OtherJob,
        Severity::Low,
        "another job of pinpoint ran or built something here",
        "Jobs take turns, so that it disturbs no run, only this look at the machine. Look again \
         when it has ended.",
    )
}

fn governor(readings: &Readings) -> Option<Finding> {
    let others: Vec<&str> = (readings.governors.iter().map(String::as_str))
        .filter(|governor| *governor != "performance")
        .collect();
    if others.is_empty() {
        return None;
    }
    found(
        Cause::Governor,
        Severity::Medium,
        format!(
            "the frequency governor is {}: the clock rate follows the load",
            others.join(", ")
        ),
        "`sudo cpupower frequency-set -g performance`",
    )
}

fn clock_rate(readings: &Readings) -> Option<Finding> {
    let (now, highest) = (readings.clock_rate?, readings.highest_clock_rate?);
    // Without turbo it can't reach the highest.
    if readings.turbo == Some(false) || now as f64 >= 0.7 * highest as f64 {
        return None;
    }
    let gigahertz = |rate: u64| format!("{:.2} GHz", rate as f64 / 1e9);
    found(
        Cause::ClockRate,
        Severity::Medium,
        format!(
            "the processor ran at {} of {}, although it was busy",
            gigahertz(now),
            gigahertz(highest)
        ),
        "Look for a limit on power, heat or clock rate: `cpupower frequency-info`.",
    )
}

fn turbo(readings: &Readings) -> Option<Finding> {
    readings.turbo.filter(|is_on| *is_on)?;
    found(
        Cause::Turbo,
        Severity::Low,
        "turbo is on: the clock rate depends on heat and on what other cores do",
        "`echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo`, or where that file \
         does not exist `echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost`",
    )
}

fn hyper_threads(readings: &Readings) -> Option<Finding> {
    let threads = readings.threads_per_core.filter(|threads| *threads > 1)?;
    found(
        Cause::HyperThreads,
        Severity::Low,
        format!("{threads} hyper-threads share a core: each slows the other down"),
        "Pin runs to one thread of a core and leave the other one idle, or switch it off: \
         `echo off | sudo tee /sys/devices/system/cpu/smt/control`",
    )
}

fn address_randomization(readings: &Readings) -> Option<Finding> {
    readings.address_randomization.filter(|is_on| *is_on)?;
    found(
        Cause::AddressRandomization,
        Severity::Low,
        "address space layout is randomized (ASLR): each run has its memory elsewhere",
        "More runs average it out. `setarch -R COMMAND` runs a benchmark without; then all runs \
         share one layout, which may favor one commit by chance.",
    )
}

fn virtual_machine(readings: &Readings) -> Option<Finding> {
    readings.virtual_machine.filter(|is_one| *is_one)?;
    found(
        Cause::VirtualMachine,
        Severity::Low,
        "this is a virtual machine: clock rates and other guests are up to its host, and can't be \
         seen from here",
        "Measure small changes on a physical machine.",
    )
}

#[cfg(test)]
mod tests {
    use super::super::readings::BusyProgram;
    use super::*;

    fn quiet() -> LoopTimes {
        LoopTimes {
            pieces: 250,
            median: 0.01,
            scatter: 0.002,
            processor_scatter: 0.002,
            off_processor: 0.001,
            smallest_change: 0.002,
        }
    }

    /// The findings by cause and severity, in order.
    fn found(readings: &Readings, times: Option<&LoopTimes>) -> Vec<(Cause, Severity)> {
        let findings = findings(readings, times);
        (findings.iter())
            .map(|finding| (finding.cause, finding.severity))
            .collect()
    }

    #[test]
    fn each_reading_has_its_findings() {
        use Cause::*;
        use Severity::*;
        type Case = (fn(&mut Readings), &'static [(Cause, Severity)]);
        let cases: &[Case] = &[
            (|_| {}, &[]),
            (|it| it.busy = Some(0.3), &[]),
            (|it| it.busy = Some(0.4), &[(Load, Medium)]),
            (|it| it.busy = Some(1.0), &[(Load, High)]),
            (|it| it.busy = Some(4.0), &[(Load, High)]),
            // One busy processor is little among many, and everything on a machine with only one.
            (|it| (it.busy, it.processors) = (Some(1.0), Some(64)), &[]),
            (
                |it| (it.busy, it.processors) = (Some(0.2), Some(1)),
                &[(Load, High)],
            ),
            (|it| it.load = Some(3.0), &[(Load, Low)]),
            (|it| it.load = Some(0.2), &[]),
            (|it| it.stolen = Some(0.009), &[]),
            (|it| it.stolen = Some(0.01), &[(Steal, Medium)]),
            (|it| it.stolen = Some(0.2), &[(Steal, High)]),
            (
                |it| it.virtual_machine = Some(true),
                &[(VirtualMachine, Low)],
            ),
            (|it| it.virtual_machine = Some(false), &[]),
            (|it| it.governors = ["performance".to_owned()].into(), &[]),
            (
                |it| it.governors = ["performance".to_owned(), "schedutil".into()].into(),
                &[(Governor, Medium)],
            ),
            (
                |it| it.clock_rate = Some(2_700_000_000),
                &[(ClockRate, Medium)],
            ),
            (|it| it.clock_rate = Some(2_900_000_000), &[]),
            (
                |it| (it.clock_rate, it.turbo) = (Some(2_000_000_000), Some(false)),
                &[],
            ),
            (|it| it.turbo = Some(true), &[(Turbo, Low)]),
            (|it| it.threads_per_core = Some(1), &[]),
            (|it| it.threads_per_core = Some(2), &[(HyperThreads, Low)]),
            (|it| it.throttled_since_start = Some(0), &[]),
            (
                |it| it.throttled_since_start = Some(9),
                &[(ThermalThrottling, Low)],
            ),
            (
                |it| (it.throttled_since_start, it.throttled) = (Some(9), Some(1)),
                &[(ThermalThrottling, High)],
            ),
            (
                |it| it.address_randomization = Some(true),
                &[(AddressRandomization, Low)],
            ),
            (|it| it.address_randomization = Some(false), &[]),
            (|it| it.swap_used = Some(0), &[]),
            (|it| it.swap_used = Some(1 << 30), &[(Swap, Low)]),
            (|it| it.pages_swapped = Some(1), &[(Swap, High)]),
            (|it| it.on_battery = Some(false), &[]),
            (|it| it.on_battery = Some(true), &[(Battery, High)]),
            (|it| it.quota = Some(1.5), &[(Quota, Medium)]),
            (
                |it| (it.quota, it.quota_stops) = (Some(1.5), Some(2)),
                &[(Quota, High)],
            ),
            (|it| it.quota_stops = Some(2), &[]),
            (|it| it.other_job = Some(false), &[]),
            // It keeps the machine busy, and is gone when this job runs.
            (
                |it| (it.other_job, it.busy) = (Some(true), Some(4.0)),
                &[(Load, Medium), (OtherJob, Low)],
            ),
        ];
        for (number, (change, expected)) in cases.iter().enumerate() {
            let mut readings = Readings {
                processors: Some(4),
                busy: Some(0.01),
                highest_clock_rate: Some(4_000_000_000),
                ..Readings::default()
            };
            change(&mut readings);
            assert_eq!(
                found(&readings, Some(&quiet())),
                *expected,
                "{number}: {readings:?}"
            );
        }
    }

    #[test]
    fn the_loop_shows_what_the_kernel_does_not_report() {
        let nothing = Readings::default();
        assert_eq!(found(&nothing, None), []);
        assert_eq!(found(&nothing, Some(&quiet())), []);
        for (share, severity) in [(0.03, Severity::Medium), (0.5, Severity::High)] {
            let interrupted = LoopTimes {
                off_processor: share,
                scatter: 0.5,
                ..quiet()
            };
            assert_eq!(
                found(&nothing, Some(&interrupted)),
                [(Cause::Interruptions, severity)]
            );
        }
        for (scatter, severity) in [(0.02, Severity::Medium), (0.5, Severity::High)] {
            let slower = LoopTimes {
                processor_scatter: scatter,
                ..quiet()
            };
            assert_eq!(found(&nothing, Some(&slower)), [(Cause::Pace, severity)]);
        }
    }

    #[test]
    fn the_worst_comes_first_and_load_is_named() {
        let readings = Readings {
            processors: Some(2),
            busy: Some(1.9),
            busiest: vec![
                BusyProgram {
                    name: "cc1".into(),
                    processes: 6,
                    processors: 1.5,
                },
                BusyProgram {
                    name: "ld".into(),
                    processes: 1,
                    processors: 0.25,
                },
            ],
            pressure: Some(0.5),
            address_randomization: Some(true),
            governors: ["powersave".to_owned()].into(),
            on_battery: Some(true),
            ..Readings::default()
        };
        let interrupted = LoopTimes {
            off_processor: 0.06,
            ..quiet()
        };
        let findings = findings(&readings, Some(&interrupted));
        let causes: Vec<Cause> = findings.iter().map(|finding| finding.cause).collect();
        use Cause::*;
        assert_eq!(
            causes,
            [Load, Battery, Interruptions, Governor, AddressRandomization]
        );
        assert_eq!(
            findings[0].seen,
            "other processes keep 1.90 of 2 processors busy: cc1 (6 processes) 1.50, ld 0.25; \
             in 50 % of the last ten seconds something waited for a processor"
        );
        let json = serde_json::to_string(&findings).unwrap();
        assert!(
            json.contains(r#""cause":"address_randomization","severity":"low""#),
            "{json}"
        );
        assert_eq!(
            serde_json::from_str::<Vec<Finding>>(&json).unwrap(),
            findings
        );
    }

    #[test]
    fn every_finding_says_what_to_do() {
        let readings = Readings {
            processors: Some(2),
            busy: Some(2.0),
            stolen: Some(0.5),
            virtual_machine: Some(true),
            governors: ["powersave".to_owned()].into(),
            clock_rate: Some(1),
            highest_clock_rate: Some(4),
            turbo: Some(true),
            threads_per_core: Some(2),
            throttled_since_start: Some(1),
            address_randomization: Some(true),
            swap_used: Some(1),
            on_battery: Some(true),
            quota: Some(1.0),
            other_job: Some(true),
            ..Readings::default()
        };
        let slow = LoopTimes {
            off_processor: 0.5,
            processor_scatter: 0.5,
            ..quiet()
        };
        let findings = findings(&readings, Some(&slow));
        assert_eq!(findings.len(), 15);
        for finding in findings {
            assert!(
                !finding.seen.is_empty() && !finding.remedy.is_empty(),
                "{finding:?}"
            );
        }
    }
}
