//! Every file of the folder of samples, cut off or bent: values, a failure or an error, never a
//! panic.

use super::*;

/// The samples and their formats: those of [`FILES`], and the others as what they are recognized.
fn samples() -> Vec<(String, Vec<u8>, Format)> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name != "criterion")
        .collect();
    names.sort_unstable();
    let samples = names.into_iter().map(|name| {
        let content = fs::read(folder().join(&name)).expect("it can be read");
        let listed = FILES.iter().find(|(file, _)| *file == name);
        let format = listed.map_or(Format::Auto, |(_, own)| format(own));
        (name, content, format)
    });
    samples.collect()
}

/// Reads a damaged output in its own format, and as one that nothing is known of.
fn read_damaged(format: &Format, output: &[u8]) {
    for format in [format, &Format::Auto] {
        match format.read_with_failures(output) {
            Ok(reading) => {
                assert!(!reading.charts.is_empty());
                for (chart, series) in &reading.charts {
                    assert!(!series.values.is_empty(), "{chart}");
                    assert!(series.values.iter().all(|value| value.is_finite()));
                    assert!(!reading.failed.contains_key(chart), "{chart}");
                }
                if let Some(chart) = reading.only_measure(format) {
                    assert!(reading.charts.contains_key(chart), "{chart}");
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(unread_values(output, None).len() <= 5);
    assert!(unread_values(output, Some(format)).len() <= 5);
}

#[test]
fn every_sample_is_listed() {
    for (name, _, _) in samples() {
        let is_listed = FILES.iter().any(|(file, _)| *file == name);
        assert!(is_listed || name == "README.md", "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cut_anywhere_it_gives_values_or_an_error(
        which in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        is_cut_in_front in proptest::bool::weighted(0.3),
    ) {
        let samples = samples();
        let (_, output, format) = &samples[which.index(samples.len())];
        let end = to.index(output.len() + 1);
        let start = if is_cut_in_front { from.index(end + 1) } else { 0 };
        read_damaged(format, &output[start..end]);
    }

    #[test]
    fn with_a_bent_byte_it_gives_values_or_an_error(
        which in any::<prop::sample::Index>(),
        bends in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let samples = samples();
        let (_, output, format) = &samples[which.index(samples.len())];
        let mut output = output.clone();
        for (at, byte) in bends {
            let at = at.index(output.len());
            output[at] = byte;
        }
        read_damaged(format, &output);
    }
}
