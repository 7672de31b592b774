//! Checks that only the builds distinguish the profiles of two sides.
//!
//! Two profilers that count in the same unit still count differently: one samples a process while
//! it waits and another does not, one names the interpreter's functions and another the script's.
//! Then all differences between the sides may come from the tools.

use super::{Explanation, FrameId, Profile, ProfileFormat, StackId};

/// The sides were recorded by different tools, as their formats show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the formats of the two sides differ ({} of the base, {} of the experiment), so that what moved may be a difference of the profilers; record both sides with the same one",
    listed(.base),
    listed(.experiment)
)]
#[non_exhaustive]
pub struct FormatsDiffer {
    /// The formats of the base, each once.
    pub base: Vec<ProfileFormat>,
    /// The formats of the experiment, each once.
    pub experiment: Vec<ProfileFormat>,
}

impl FormatsDiffer {
    /// The formats of two sides, if they are not the same ones; in any order.
    ///
    /// ```
    /// use pinpoint_profile::{FormatsDiffer, Profile};
    ///
    /// let folded = [Profile::read(b"main;parse 30\n")?];
    /// let callgrind = [Profile::read(b"events: Ir\nfn=parse\n1 30\n")?];
    /// assert_eq!(FormatsDiffer::between(&folded, &folded), None);
    /// let differ = FormatsDiffer::between(&folded, &callgrind).expect("two formats");
    /// assert!(differ.to_string().contains("folded of the base, callgrind of the experiment"));
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn between(base: &[Profile], experiment: &[Profile]) -> Option<Self> {
        let [base, experiment] = [base, experiment].map(formats);
        (base != experiment).then_some(Self { base, experiment })
    }
}

/// Most stacks name only the function that ran, so that callers are unknown.
///
/// This happens when a profiler follows the stacks of a program by frame pointers, which compilers
/// of C, C++ and Rust leave out by default. Then inlining looks like a change: one function is
/// gone, and another one takes more.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "{:.0} % of the cost is in stacks that name no caller, so that a function that was inlined looks gone, and its caller slower; record call graphs by debug information (perf record --call-graph dwarf), or compile with frame pointers (-fno-omit-frame-pointer, and for Rust -C force-frame-pointers=yes)",
    .part * 100.0
)]
#[non_exhaustive]
pub struct CallersMissing {
    /// The part of the cost of all profiles that is in such stacks.
    pub part: f64,
}

/// The least part of the cost in stacks without callers for this warning.
const MOST_WITHOUT_CALLERS: f64 = 0.5;

impl CallersMissing {
    /// Returns the warning if callers are missing in these profiles of machine code.
    ///
    /// ```
    /// use pinpoint_profile::{CallersMissing, Profile};
    ///
    /// let lost = Profile::read(b"w 1 1.0: 5 cycles:\n\t1 step+0x1 (/w)\n\n")?;
    /// assert!(CallersMissing::of(&[lost]).is_some());
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn of(profiles: &[Profile]) -> Option<Self> {
        let (mut lost, mut all) = (0.0, 0.0);
        for profile in profiles {
            if !matches!(
                profile.format,
                ProfileFormat::PerfScript | ProfileFormat::Firefox
            ) {
                continue;
            }
            for sample in &profile.samples {
                all += sample.weight;
                if is_without_callers(profile, sample.stack) {
                    lost += sample.weight;
                }
            }
        }
        let part = lost / all;
        (part >= MOST_WITHOUT_CALLERS).then_some(Self { part })
    }
}

/// Returns true if no caller of the function has a name, and it is not an entry point.
fn is_without_callers(profile: &Profile, stack: StackId) -> bool {
    let is_kernel = |frame: FrameId| {
        let module = profile.names.get(profile.frame(frame).module);
        module.starts_with("[kernel") || module == "[guest.kernel.kallsyms]"
    };
    let own = { profile.stacks.from_leaf(stack) }.filter(|frame| !is_kernel(*frame));
    let mut named = own.filter(|frame| !profile.name(*frame).is_empty());
    let first = named.next();
    named.next().is_none()
        && first.is_some_and(|frame| !matches!(profile.name(frame), "main" | "_start"))
}

/// Most of the cost of each side is in functions that the other one does not have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "functions that only one side has are {:.0} % of the base and {:.0} % of the experiment, so that little is compared; say what has another name in the experiment, if a program, a file or a folder has",
    .parts[0] * 100.0, .parts[1] * 100.0
)]
#[non_exhaustive]
pub struct UnmatchedParts {
    /// The part of the cost of the base, and of the experiment.
    pub parts: [f64; 2],
}

/// The least part of each side in functions that the other one lacks for this warning.
const MOST_UNMATCHED: f64 = 0.8;

impl UnmatchedParts {
    /// Returns the warning if little is compared.
    pub fn of(explanation: &Explanation) -> Option<Self> {
        let part = |side: usize| {
            let cost = |change: &super::Change| [change.base, change.experiment];
            let alone = explanation.functions.iter().filter(|function| {
                let [own, total] = [&function.own, &function.total].map(cost);
                own[1 - side] == 0.0 && total[1 - side] == 0.0
            });
            let alone: f64 = alone.map(|function| cost(&function.own)[side]).sum();
            alone / cost(&explanation.whole)[side]
        };
        let parts = [part(0), part(1)];
        parts
            .iter()
            .all(|part| *part >= MOST_UNMATCHED)
            .then_some(Self { parts })
    }
}

/// The different formats of profiles, in the order of their names.
fn formats(profiles: &[Profile]) -> Vec<ProfileFormat> {
    let mut formats: Vec<_> = profiles.iter().map(|profile| profile.format).collect();
    formats.sort_by_key(|format| format.as_str());
    formats.dedup();
    formats
}

fn listed(formats: &[ProfileFormat]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
    names.join(" and ")
}
