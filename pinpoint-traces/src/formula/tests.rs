use proptest::prelude::*;

use super::*;
use crate::commit::CommitNumber;
use crate::frame::Columns;

const M: f64 = f64::NAN;

fn frame(rows: &[&[f64]]) -> Frame {
    let width = rows.first().map_or(3, |it| it.len()) as u32;
    let mut frame = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(width - 1)));
    for (index, row) in rows.iter().enumerate() {
        let name = format!(",test=t{index},").parse().unwrap();
        frame.push(name, row).unwrap();
    }
    frame
}

fn formula(text: &str) -> Formula {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fault(text: &str) -> FormulaError {
    text.parse::<Formula>().expect_err(text)
}

/// The only row of a formula over these traces.
fn row(text: &str, rows: &[&[f64]]) -> Vec<f64> {
    let result = formula(text).evaluate(&[frame(rows)]).unwrap();
    assert_eq!(result.len(), 1, "{text}");
    result.values().to_vec()
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| {
        (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?} is not {expected:?}"
    );
}

#[test]
fn norm_divides_by_the_deviation_only_if_that_is_large() {
    assert_near(
        &row(r#"norm(filter(""))"#, &[&[1.0, 3.0, M]]),
        &[-1.0, 1.0, M],
    );
    assert_near(&row(r#"norm(filter(""))"#, &[&[2.0, 6.0]]), &[-1.0, 1.0]);
    assert_near(&row(r#"norm(filter(""), 2)"#, &[&[2.0, 6.0]]), &[-2.0, 2.0]);
    assert_near(
        &row(r#"norm(filter(""), 1.99)"#, &[&[2.0, 6.0]]),
        &[-1.0, 1.0],
    );
    assert_near(
        &row(r#"norm(filter(""))"#, &[&[1.0, 1.001]]),
        &[-0.0005, 0.0005],
    );
    assert_near(&row(r#"norm(filter(""))"#, &[&[M, M]]), &[M, M]);
}

#[test]
fn fill_takes_the_next_later_value() {
    let fill = r#"fill(filter(""))"#;
    assert_near(
        &row(fill, &[&[M, M, 2.0, 3.0, M, 5.0]]),
        &[2.0, 2.0, 2.0, 3.0, 5.0, 5.0],
    );
    assert_near(
        &row(fill, &[&[3.0, M, 5.0, M, M]]),
        &[3.0, 5.0, 5.0, 5.0, 5.0],
    );
    assert_near(&row(fill, &[&[M, M]]), &[0.0, 0.0]);
}

#[test]
fn log_is_missing_at_zero_and_below_and_names_its_row() {
    let result = formula(r#"log(filter(""))"#)
        .evaluate(&[frame(&[&[100.0, 0.0, -1.0, M]])])
        .unwrap();
    assert_near(result.values(), &[2.0, M, M, M]);
    assert_eq!(result.names()[0].to_string(), "!log(,test=t0,)");
}

#[test]
fn iqrr_drops_what_lies_far_outside_the_quartiles() {
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 100.0, M];
    let mut kept = values;
    kept[9] = M;
    assert_near(&row(r#"iqrr(filter(""))"#, &[&values]), &kept);
    assert_near(&row(r#"iqrr(filter(""))"#, &[&[M, M, M]]), &[M, M, M]);
    assert_near(&row(r#"iqrr(filter(""))"#, &[&[M, 4.0, M]]), &[M, 4.0, M]);
}

#[test]
fn statistics_of_a_trace_are_constant_over_it() {
    let values: &[&[f64]] = &[&[2.0, M, 6.0, 10.0]];
    assert_near(
        &row(r#"scale_by_ave(filter(""))"#, values),
        &[1.0 / 3.0, M, 1.0, 5.0 / 3.0],
    );
    assert_near(&row(r#"trace_ave(filter(""))"#, values), &[6.0; 4]);
    let deviation = (32.0_f64 / 3.0).sqrt();
    assert_near(&row(r#"trace_stddev(filter(""))"#, values), &[deviation; 4]);
    assert_near(
        &row(r#"trace_cov(filter(""))"#, values),
        &[deviation / 6.0; 4],
    );
    assert_near(&row(r#"step(filter(""))"#, values), &[0.25; 4]);
    // Of three commits, the first is the first half.
    assert_near(&row(r#"step(filter(""))"#, &[&[8.0, 1.0, 3.0]]), &[4.0; 3]);
    assert_near(&row(r#"step(filter(""))"#, &[&[M, 1.0, 3.0]]), &[M; 3]);
    assert_near(
        &row(r#"scale_by_ave(filter(""))"#, &[&[-1.0, 1.0]]),
        &[M, M],
    );
}

#[test]
fn folds_go_commit_by_commit() {
    let rows: &[&[f64]] = &[&[1.0, 4.0, M, -3.0], &[3.0, M, M, 9.0], &[2.0, 9.0, M, 4.0]];
    for (name, expected) in [
        ("ave", [2.0, 6.5, M, 10.0 / 3.0]),
        ("sum", [6.0, 13.0, M, 10.0]),
        ("count", [3.0, 2.0, 0.0, 3.0]),
        ("min", [1.0, 4.0, M, -3.0]),
        ("max", [3.0, 9.0, M, 9.0]),
        ("geo", [libm::cbrt(6.0), 6.0, M, 6.0]),
    ] {
        let text = format!(r#"{name}(filter("a=b"))"#);
        assert_near(&row(&text, rows), &expected);
        let result = formula(&text).evaluate(&[frame(rows)]).unwrap();
        assert_eq!(result.names()[0].to_string(), format!("@{text}"));
    }
}

#[test]
fn geo_with_zero_is_zero() {
    assert_near(
        &row(r#"geo(filter(""))"#, &[&[0.0, -1.0], &[5.0, -2.0]]),
        &[0.0, M],
    );
}

#[test]
fn folds_of_nothing_are_missing_and_its_count_is_zero() {
    for name in ["ave", "sum", "min", "max", "geo"] {
        assert_near(
            &row(&format!(r#"{name}(filter("no=trace"))"#), &[]),
            &[M; 3],
        );
    }
    assert_near(&row(r#"count(filter("no=trace"))"#, &[]), &[0.0; 3]);
}

#[test]
fn a_ratio_is_of_one_trace_on_each_side() {
    let text = r#"ratio(ave(filter("a=1")), sum(filter("b=1")))"#;
    let both = [
        frame(&[&[6.0, M, 1.0]]),
        frame(&[&[2.0, M, 0.0], &[1.0, M, 0.0]]),
    ];
    let result = formula(text).evaluate(&both).unwrap();
    // Missing over missing is missing, and so is what is not finite.
    assert_near(result.values(), &[2.0, M, M]);
    assert_eq!(result.names()[0].to_string(), format!("@{text}"));

    let text = r#"ratio(filter("a=1"), filter("b=1"))"#;
    let error = formula(text).evaluate(&both).unwrap_err();
    let side = r#"filter("b=1")"#.to_owned();
    assert_eq!(error, EvaluateError::Ratio { side, traces: 2 });
    let error = formula(text)
        .evaluate(&[frame(&[]), both[0].clone()])
        .unwrap_err();
    let side = r#"filter("a=1")"#.to_owned();
    assert_eq!(error, EvaluateError::Ratio { side, traces: 0 });
}

#[test]
fn a_selection_is_loaded_once() {
    let ratio = formula(r#"ratio(ave(filter("a=1")), count(filter("a=1")))"#);
    assert_eq!(ratio.selections().len(), 1);
    assert_near(
        ratio
            .evaluate(&[frame(&[&[3.0], &[5.0]])])
            .unwrap()
            .values(),
        &[2.0],
    );
}

#[test]
fn avg_is_ave_everywhere() {
    for (given, printed) in [
        (r#"avg(filter("a=1"))"#, r#"ave(filter("a=1"))"#),
        (r#"trace_avg(filter("a=1"))"#, r#"trace_ave(filter("a=1"))"#),
        (
            r#"scale_by_avg(filter("a=1"))"#,
            r#"scale_by_ave(filter("a=1"))"#,
        ),
    ] {
        assert_eq!(formula(given).to_string(), printed);
    }
}

#[test]
fn numbers_have_a_sign_an_exponent_or_hexadecimal_digits() {
    for (number, least) in [
        ("-1", -1.0),
        ("+2.5", 2.5),
        ("1e-3", 0.001),
        ("1.5E+2", 150.0),
        ("0x1F", 31.0),
        ("-0xe", -14.0),
        (".5", 0.5),
    ] {
        let text = format!(r#"norm(filter("a=1"), {number})"#);
        let Node::Trace(TraceFunction::Norm(found), _) = formula(&text).root else {
            panic!("{text}");
        };
        assert_eq!(found, least);
    }
    for number in [
        "1e999", "0x", "0x1G", "1.2.3", "-", "1e", "-inf", "0xe+1", "--1",
    ] {
        let text = format!(r#"norm(filter("a=1"), {number})"#);
        assert!(text.parse::<Formula>().is_err(), "{text}");
    }
}

#[test]
fn faults_have_a_column_and_say_what_belongs_there() {
    for (text, column, message) in [
        (
            r#"ave(filter("a=1")) x"#,
            20,
            "expected the end after the last parenthesis, found `x`",
        ),
        (
            r#"ave(filter("a=1")))"#,
            19,
            "expected the end after the last parenthesis, found `)`",
        ),
        (
            r#"ratio(ave(filter("a=1")) ave(filter("b=1")))"#,
            26,
            "expected `,` or `)`, found `ave`",
        ),
        (
            r#"norm(filter("a=1") 2)"#,
            20,
            "expected `,` or `)`, found `2`",
        ),
        (
            r#"ave(filter("a=1"),)"#,
            19,
            "expected a function, a text or a number, found `)`",
        ),
        (
            r#"ave(,filter("a=1"))"#,
            5,
            "expected a function, a text or a number, found `,`",
        ),
        (
            r#"ave(filter("a=1")"#,
            18,
            "expected `,` or `)`, found the end",
        ),
        (
            "",
            1,
            "expected a function, a text or a number, found the end",
        ),
        ("ave", 4, "expected `(`, found the end"),
        (r#""a=1""#, 1, "expected a function, found `\"a=1\"`"),
        (
            r#"äve(filter("a=1"))"#,
            1,
            "expected a function, a text or a number, found `ä`",
        ),
        (
            r#"filter("ä=~(")"#,
            8,
            "the regular expression `(` can't be read",
        ),
        (
            r#"max(filter("ä"), %)"#,
            12,
            "`ä` in the query has no condition",
        ),
        (r#"ave(filter("a=1)"#, 12, "the text has no closing `\"`"),
        (
            r#"avee(filter("a=1"))"#,
            1,
            "there is no function `avee`; the nearest is `ave`",
        ),
        (
            r#"max(filter("a=1"), 2)"#,
            1,
            "`max` takes traces, and nothing else",
        ),
        (r#"norm("a")"#, 1, "`norm` takes traces, and a number"),
        (
            r#"norm(filter("a=1"), "2")"#,
            1,
            "`norm` takes traces, and a number",
        ),
        (
            r#"fill(norm(filter(2)))"#,
            11,
            "`filter` takes one query, as text",
        ),
        (r#"ratio(filter("a=1"))"#, 1, "`ratio` takes two traces"),
        (
            r#"shortcut("X12")"#,
            10,
            "`X12` is not the name of a shortcut",
        ),
        ("fill(1e999)", 6, "`1e999` is not a number"),
    ] {
        let error = fault(text);
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

#[test]
fn calls_are_nested_64_deep_and_no_deeper() {
    let nested = |depth: usize| {
        format!(
            "{}filter(\"\"){}",
            "fill(".repeat(depth - 1),
            ")".repeat(depth - 1)
        )
    };
    assert_eq!(formula(&nested(64)).selections().len(), 1);
    let error = fault(&nested(65));
    assert_eq!(error.fault, FormulaFault::TooDeep(64));
    assert_eq!(error.column, 64 * 5 + 1);
    assert!(matches!(
        fault(&nested(40_000)).fault,
        FormulaFault::TooLong(_)
    ));
}

#[test]
fn the_name_of_a_calculated_trace_makes_it_again() {
    let traces = frame(&[&[1.0, M, 5.0], &[4.0, 2.0, M]]);
    let text = r#"norm(fill(filter("x=*")), 0.5)"#;
    let result = formula(text)
        .evaluate(std::slice::from_ref(&traces))
        .unwrap();
    assert_eq!(result.names()[1].to_string(), "!norm(fill(,test=t1,), 0.5)");
    for (index, (name, values)) in result.rows().enumerate() {
        let again = Formula::of_name(name).unwrap().unwrap();
        let [Selection::Trace(id)] = again.selections() else {
            panic!("{again}");
        };
        assert_eq!(Some(id), traces.names()[index].stored());
        assert_eq!(format!("!{again}"), name.to_string());
        let one = frame(&[traces.row(index).unwrap()]);
        assert_near(again.evaluate(&[one]).unwrap().values(), values);
    }
    assert_eq!(Formula::of_name(&traces.names()[0]), None);
    // What is made of a whole formula is one, too.
    let result = formula(r#"norm(ave(filter("x=*")))"#)
        .evaluate(&[traces])
        .unwrap();
    assert_eq!(
        result.names()[0].to_string(),
        r#"@norm(ave(filter("x=*")))"#
    );
}

#[test]
fn frames_must_fit_the_selections() {
    let ratio = formula(r#"ratio(filter("a=1"), filter("b=1"))"#);
    let error = ratio.evaluate(&[frame(&[&[1.0]])]).unwrap_err();
    assert_eq!(
        error,
        EvaluateError::Frames {
            found: 1,
            wanted: 2
        }
    );
    let error = ratio
        .evaluate(&[frame(&[&[1.0]]), frame(&[&[1.0, 2.0]])])
        .unwrap_err();
    assert_eq!(error, EvaluateError::Columns);
}

#[test]
fn folds_of_many_rows_are_those_of_few() {
    let rows: Vec<Vec<f64>> = (0..5000).map(|it| vec![f64::from(it), 1.0]).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    assert_eq!(row(r#"sum(filter(""))"#, &rows), [12_497_500.0, 5000.0]);
    assert_eq!(row(r#"max(filter(""))"#, &rows), [4999.0, 1.0]);
    assert_eq!(row(r#"ave(fill(filter("")))"#, &rows), [2499.5, 1.0]);
}

/// A second evaluator, written from the table of functions: options instead of NaN, one value at a
/// time, and no code of the first.
mod slow {
    pub(super) type Row = Vec<Option<f64>>;

    fn finite(value: f64) -> Option<f64> {
        value.is_finite().then_some(value)
    }

    fn mean(row: &[Option<f64>]) -> Option<f64> {
        let present: Vec<f64> = row.iter().flatten().copied().collect();
        finite(present.iter().sum::<f64>() / present.len() as f64)
    }

    fn deviation(row: &[Option<f64>]) -> Option<f64> {
        let mean = mean(row)?;
        let present: Vec<f64> = row.iter().flatten().copied().collect();
        let squares: f64 = present.iter().map(|it| (it - mean) * (it - mean)).sum();
        Some((squares / present.len() as f64).sqrt())
    }

    fn quartile(sorted: &[f64], p: f64) -> f64 {
        let n = sorted.len() as f64;
        // Hyndman and Fan: j = floor(np + m), g = np + m - j, m = (p + 1) / 3.
        let place = n * p + (p + 1.0) / 3.0;
        let j = place.floor();
        let g = place - j;
        let at = |rank: f64| sorted[(rank.clamp(1.0, n) - 1.0) as usize];
        at(j) - g * (at(j) - at(j + 1.0))
    }

    pub(super) fn of_one(name: &str, row: &Row) -> Row {
        let constant = |value: Option<f64>| vec![value; row.len()];
        match name {
            "norm" => {
                let (mean, deviation) = (mean(row), deviation(row));
                let changed = |it: f64| {
                    let moved = it - mean?;
                    finite(if deviation? > 0.001 {
                        moved / deviation?
                    } else {
                        moved
                    })
                };
                row.iter().map(|it| it.and_then(changed)).collect()
            }
            "fill" => (0..row.len())
                .map(|at| {
                    let later = row[at..].iter().flatten().next();
                    let last = row.iter().rev().flatten().next();
                    Some(*later.or(last).unwrap_or(&0.0))
                })
                .collect(),
            "log" => {
                let logarithm = |it: f64| {
                    if it > 0.0 {
                        finite(libm::log(it) / libm::log(10.0))
                    } else {
                        None
                    }
                };
                row.iter().map(|it| it.and_then(logarithm)).collect()
            }
            "iqrr" => {
                let mut sorted: Vec<f64> = row.iter().flatten().copied().collect();
                if sorted.is_empty() {
                    return row.clone();
                }
                sorted.sort_by(f64::total_cmp);
                let (low, high) = (quartile(&sorted, 0.25), quartile(&sorted, 0.75));
                let reach = 1.5 * (high - low);
                let is_kept = |it: &f64| *it >= low - reach && *it <= high + reach;
                row.iter().map(|it| it.filter(is_kept)).collect()
            }
            "scale_by_ave" => {
                let scaled = |it: f64| finite(it / mean(row)?);
                row.iter().map(|it| it.and_then(scaled)).collect()
            }
            "trace_ave" => constant(mean(row)),
            "trace_stddev" => constant(deviation(row)),
            "trace_cov" => constant(deviation(row).and_then(|it| finite(it / mean(row)?))),
            "step" => {
                let half = row.len() / 2;
                let step = || finite(mean(&row[..half])? / mean(&row[half..])?);
                constant(step())
            }
            other => panic!("{other}"),
        }
    }

    pub(super) fn of_all(name: &str, rows: &[Row], width: usize) -> Row {
        let folded = |column: usize| {
            let present: Vec<f64> = rows.iter().filter_map(|row| row[column]).collect();
            let count = present.len() as f64;
            match name {
                "count" => Some(count),
                "geo" => {
                    let kept: Vec<f64> = present.into_iter().filter(|it| *it >= 0.0).collect();
                    let product: f64 = kept.iter().product();
                    (!kept.is_empty()).then(|| libm::pow(product, 1.0 / kept.len() as f64))
                }
                _ if present.is_empty() => None,
                "ave" => Some(present.iter().sum::<f64>() / count),
                "sum" => Some(present.iter().sum()),
                "min" => present.into_iter().reduce(f64::min),
                "max" => present.into_iter().reduce(f64::max),
                other => panic!("{other}"),
            }
        };
        (0..width).map(folded).collect()
    }
}

const OF_ONE: [&str; 9] = [
    "norm",
    "fill",
    "log",
    "iqrr",
    "scale_by_ave",
    "trace_ave",
    "trace_stddev",
    "trace_cov",
    "step",
];
const OF_ALL: [&str; 6] = ["ave", "sum", "count", "min", "max", "geo"];

/// Values that are hardly ever equal, so that no rounding moves one over a limit.
fn a_value() -> impl Strategy<Value = Option<f64>> {
    let value = (-4_000_000_i32..100_000_000).prop_map(|it| f64::from(it) / 1e6);
    proptest::option::weighted(0.7, value)
}

fn traces() -> impl Strategy<Value = (usize, Vec<slow::Row>)> {
    (1_usize..9).prop_flat_map(|width| {
        let row = proptest::collection::vec(a_value(), width);
        (Just(width), proptest::collection::vec(row, 0..5))
    })
}

fn a_formula() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"filter("arch=x86&os=!Win7")"#.to_owned()),
        Just(r#"filter("")"#.to_owned()),
        Just(r#"shortcut("X00112233445566778899aabbccddeeff")"#.to_owned()),
        Just(",arch=x86,os=Win7,".to_owned()),
    ];
    leaf.prop_recursive(6, 20, 2, |inner| {
        prop_oneof![
            (0..OF_ONE.len(), inner.clone()).prop_map(|(it, of)| format!("{}({of})", OF_ONE[it])),
            (0..OF_ALL.len(), inner.clone()).prop_map(|(it, of)| format!("{}({of})", OF_ALL[it])),
            (inner.clone(), any::<i16>())
                .prop_map(|(of, least)| format!("norm({of}, {:?})", f64::from(least) / 8.0)),
            (inner.clone(), inner).prop_map(|(a, b)| format!("ratio({a}, {b})")),
        ]
    })
}

proptest! {
    #[test]
    fn a_printed_formula_is_the_same_formula(text in a_formula()) {
        // A bare id stands only inside of a call.
        let text = format!("fill({text})");
        let parsed = formula(&text);
        prop_assert_eq!(parsed.to_string(), text.as_str());
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        prop_assert_eq!(&formula(&spaced), &parsed);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}", parts in proptest::collection::vec(
        proptest::sample::select(vec!["ave(", ")", ",", "filter(", "\"a=1\"", " ", "1e5", "ratio(", ",a=b,", "0x", "-", "ä"]), 0..12)) {
        let _ = text.parse::<Formula>();
        let joined = parts.concat();
        if let Ok(parsed) = joined.parse::<Formula>() {
            prop_assert_eq!(&parsed.to_string().parse::<Formula>().unwrap(), &parsed);
        }
    }

    #[test]
    fn formulas_give_what_a_slow_evaluator_gives(
        (width, rows) in traces(),
        first in proptest::option::of(proptest::sample::select(&OF_ONE[..])),
        // The others have limits of their own, or divide by what may be all but 0.
        second in proptest::option::of(proptest::sample::select(vec!["fill", "trace_ave"])),
        outer in proptest::option::of(0..OF_ALL.len()),
    ) {
        // The mean of normalized values is all but 0, and `geo` leaves negative ones out.
        let is_geo = outer.is_some_and(|it| OF_ALL[it] == "geo");
        prop_assume!(!(is_geo && first == Some("norm")));
        let dense: Vec<Vec<f64>> = rows.iter()
            .map(|row| row.iter().map(|it| it.unwrap_or(M)).collect())
            .collect();
        let mut input = Frame::new(Columns::range(CommitNumber(0)..=CommitNumber(width as u32 - 1)));
        for (index, row) in dense.iter().enumerate() {
            input.push(format!(",t={index},").parse().unwrap(), row).unwrap();
        }
        let mut text = r#"filter("")"#.to_owned();
        let mut expected = rows;
        for function in first.into_iter().chain(second) {
            text = format!("{function}({text})");
            expected = expected.iter().map(|row| slow::of_one(function, row)).collect();
        }
        if let Some(function) = outer {
            text = format!("{}({text})", OF_ALL[function]);
            expected = vec![slow::of_all(OF_ALL[function], &expected, width)];
        }
        let result = formula(&text).evaluate(&[input]).unwrap();
        let expected: Vec<f64> = expected.concat().into_iter().map(|it| it.unwrap_or(M)).collect();
        assert_near(result.values(), &expected);
    }
}
