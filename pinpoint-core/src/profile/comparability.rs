//! Whether the profiles of two sides can be told apart by the builds alone.
//!
//! Two profilers that count in the same unit still count differently: one samples a process
//! while it waits and another does not, one names the interpreter's functions and another the
//! script's. Then all that differs between the sides may be the tools'.

use super::{Profile, ProfileFormat};

/// The sides were recorded by different tools, as their formats show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the formats of the two sides differ ({} of the base, {} of the experiment), so that what moved may be a difference of the profilers; record both sides with the same one",
    listed(.base),
    listed(.experiment)
)]
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
    /// use pinpoint_core::profile::{FormatsDiffer, Profile};
    ///
    /// let folded = [Profile::read(b"main;parse 30\n")?];
    /// let callgrind = [Profile::read(b"events: Ir\nfn=parse\n1 30\n")?];
    /// assert_eq!(FormatsDiffer::between(&folded, &folded), None);
    /// let differ = FormatsDiffer::between(&folded, &callgrind).expect("two formats");
    /// assert!(differ.to_string().contains("folded of the base, callgrind of the experiment"));
    /// # Ok::<(), pinpoint_core::profile::ReadProfileError>(())
    /// ```
    pub fn between(base: &[Profile], experiment: &[Profile]) -> Option<Self> {
        let [base, experiment] = [base, experiment].map(formats);
        (base != experiment).then_some(Self { base, experiment })
    }
}

/// In the order of their names.
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
