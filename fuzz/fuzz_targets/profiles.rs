//! Every reader of profiles and timelines, and what is done with them: no panic, no weight
//! that is not finite, and differences that add up.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::profile::{
    EntryId, EntryTree, ExplainOptions, ExportFormat, Exported, PartChange, Profile, Timeline,
    Window, compare_entries, compare_stacks, explain, export,
};

fuzz_target!(|content: &[u8]| {
    // Two profiles, so that there is something to compare.
    let (mut profiles, mut trees) = (Vec::new(), Vec::new());
    for part in content.splitn(2, |byte| *byte == 0xfe) {
        let profile = Profile::read(part);
        match Timeline::read(part) {
            Ok(timeline) => {
                walk(&timeline);
                if let Ok(profile) = &profile {
                    trees.push(tree(&timeline, profile));
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        match profile {
            Ok(profile) => profiles.push(profile),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for profile in &profiles {
        check(profile);
    }
    if let [base, .., experiment] = profiles.as_slice() {
        compare(base, experiment, &trees);
    } else if let [profile] = profiles.as_slice() {
        compare(profile, profile, &trees);
    }
});

fn tree(timeline: &Timeline, profile: &Profile) -> EntryTree {
    let part = EntryTree::of(timeline, profile, Some(&Window::Span(0.0, 1e6)));
    let whole = EntryTree::of(timeline, profile, None).expect("nothing is looked for");
    assert!(part.is_ok_and(|part| part.paths() == whole.paths()));
    whole
}

fn walk(timeline: &Timeline) {
    for (track, all) in (0..).zip(&timeline.tracks) {
        for (entry, each) in (0..).zip(&all.entries) {
            assert!(each.duration >= 0.0);
            let id = EntryId { track, entry };
            assert!(timeline.entry(id) == Some(each) && timeline.key(id).is_some());
            let _ = (timeline.id(each.kind), timeline.stack(id));
        }
    }
}

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
    let _ = profile.flame_chart();
    for warning in &profile.warnings {
        assert!(!warning.to_string().is_empty());
    }
    if let Ok(part) = profile.clone().window(&Window::Span(0.0, 1e6)) {
        assert!(part.total() <= profile.total() * (1.0 + 1e-9));
    }
}

fn compare(base: &Profile, experiment: &Profile, trees: &[EntryTree]) {
    let (base, experiment) = ([base.clone()], [experiment.clone()]);
    if let Ok(explanation) = explain(&base, &experiment, &ExplainOptions::default()) {
        let own: f64 = explanation
            .functions
            .iter()
            .map(|change| change.own.difference)
            .sum();
        let whole = explanation.whole;
        let off = own + explanation.rest.difference - whole.difference;
        let scale = whole.base + whole.experiment;
        assert!(!scale.is_finite() || off.abs() <= 1e-9 * scale);
        let sum = |parts: &[PartChange]| -> f64 {
            let busy = parts.iter().filter(|part| part.name != "idle");
            busy.map(|part| part.own.difference).sum()
        };
        let parts = sum(&explanation.categories);
        assert!(!scale.is_finite() || (parts - whole.difference).abs() <= 1e-9 * scale);
    }
    let options = ExplainOptions::default();
    if let (Ok(stacks), [before, .., after]) =
        (compare_stacks(&base, &experiment, &options), trees)
    {
        let [before, after] = [before, after].map(std::slice::from_ref);
        let compared = compare_entries(before, after, &stacks, &options);
        assert!(compared.is_ok(), "{compared:?}");
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
