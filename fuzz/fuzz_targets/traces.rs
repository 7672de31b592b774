//! Everything that the history of values reads: ids, queries, formulas, files of results. A text that
//! is read is printed to one that reads the same, and an error is inside of the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_traces::{
    Columns, CommitNumber, Dataset, Formula, Frame, Query, Source, TraceId, TraceName, read_results,
};

fuzz_target!(|file: &[u8]| {
    match read_results(Source::new("2024/02/29/23/a.json", 0), file) {
        Ok(read) => {
            for point in &read.points {
                assert!(point.value.is_finite());
                assert_eq!(
                    TraceId::new(&point.trace.params()).as_ref(),
                    Ok(&point.trace)
                );
            }
        }
        Err(error) => {
            if let Some(place) = &error.place {
                let text = String::from_utf8_lossy(file);
                assert!(
                    place.line <= text.split('\n').count() && place.column > 0,
                    "{error}"
                );
            }
        }
    }

    let text = String::from_utf8_lossy(file);
    if let Ok(id) = text.parse::<TraceId>() {
        assert_eq!(TraceId::new(&id.params()).as_ref(), Ok(&id));
    }
    if let Ok(name) = text.parse::<TraceName>() {
        assert_eq!(name.to_string(), text);
    }
    if let Ok(query) = text.parse::<Query>() {
        assert_eq!(query.to_string().parse(), Ok(query));
    }
    let _ = text.parse::<Dataset>();
    match text.parse::<Formula>() {
        Ok(formula) => {
            assert_eq!(formula.to_string().parse(), Ok(formula.clone()));
            let mut frame = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(2)));
            let row = [1.0, f64::NAN, -2.5];
            frame
                .push(",a=b,".parse().expect("an id"), &row)
                .expect("a row");
            let frames = vec![frame; formula.selections().len()];
            if let Ok(result) = formula.evaluate(&frames) {
                assert!(result.values().iter().all(|it| !it.is_infinite()));
            }
        }
        Err(error) => assert!(
            (1..=text.chars().count() + 1).contains(&error.column),
            "{error}"
        ),
    }
});
