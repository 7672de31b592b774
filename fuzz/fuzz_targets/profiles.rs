//! Every reader of profiles, and what is done with a profile: no panic, no weight that is
//! not finite, and differences that add up.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::profile::{
    ExplainOptions, ExportFormat, Exported, Profile, Window, explain, export,
};

fuzz_target!(|content: &[u8]| {
    // Two profiles, so that there is something to compare.
    let mut profiles = Vec::new();
    for part in content.splitn(2, |byte| *byte == 0xfe) {
        match Profile::read(part) {
            Ok(profile) => profiles.push(profile),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for profile in &profiles {
        check(profile);
    }
    if let [base, .., experiment] = profiles.as_slice() {
        compare(base, experiment);
    } else if let [profile] = profiles.as_slice() {
        compare(profile, profile);
    }
});

fn check(profile: &Profile) {
    assert!(!profile.samples.is_empty());
    assert!(profile.times.is_empty() || profile.times.len() == profile.samples.len());
    for sample in &profile.samples {
        assert!(sample.weight.is_finite() && sample.weight > 0.0);
        assert!(profile.stacks.from_leaf(sample.stack).count() < profile.stacks.len());
    }
    let costs = profile.costs();
    let own: f64 = costs.own.iter().sum();
    assert!(!own.is_finite() || own <= profile.total() * (1.0 + 1e-9));
    if let Ok(part) = profile.clone().window(&Window::Span(0.0, 1e6)) {
        assert!(part.total() <= profile.total() * (1.0 + 1e-9));
    }
}

fn compare(base: &Profile, experiment: &Profile) {
    let (base, experiment) = ([base.clone()], [experiment.clone()]);
    if let Ok(explanation) = explain(&base, &experiment, &ExplainOptions::default()) {
        let own: f64 = explanation.functions.iter().map(|change| change.own.difference).sum();
        let whole = explanation.whole;
        let off = own + explanation.rest.difference - whole.difference;
        let scale = whole.base + whole.experiment;
        assert!(!scale.is_finite() || off.abs() <= 1e-9 * scale);
    }
    for format in [
        ExportFormat::Folded,
        ExportFormat::Pprof,
        ExportFormat::CpuProfile,
        ExportFormat::Speedscope,
    ] {
        let _ = export(&base, &experiment, Exported::Experiment, format);
    }
}
