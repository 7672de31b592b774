//! All formats of a comparison, with many charts and hostile names.

use std::collections::BTreeMap;

use pinpoint_core::results::{CompareOptions, compare};
use pinpoint_core::{Direction, Series};

use super::*;
use crate::show::screen_tests::styles_shown;
use crate::show::text::Text;

/// The most characters of a comment at GitHub.
const COMMENT: usize = 65_536;

/// Twelve values around a level.
fn series(level: f64, unit: Option<&str>) -> Series {
    let values = (0..12).map(|run| level * (1.0 + 0.001 * f64::from(run * 5 % 12)));
    Series {
        values: values.collect(),
        unit: unit.map(str::to_owned),
        ..Series::default()
    }
}

type Chart<'a> = (&'a str, Option<&'a str>, f64);

/// A comparison of charts by name, with their units and levels.
fn files(before: &[Chart], after: &[Chart]) -> ComparedFiles {
    files_with(before, after, None)
}

fn files_with(before: &[Chart], after: &[Chart], direction: Option<Direction>) -> ComparedFiles {
    let side = |charts: &[Chart]| -> BTreeMap<String, Series> {
        let chart = |(name, unit, level): &Chart| ((*name).to_owned(), series(*level, *unit));
        charts.iter().map(chart).collect()
    };
    let options = CompareOptions {
        direction,
        ..CompareOptions::default()
    };
    ComparedFiles {
        version: 1,
        control: vec!["before.json".into()],
        treatment: vec!["after.json".into()],
        comparison: compare(&[side(before)], &[side(after)], &options).expect("charts are there"),
        failed: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Something of everything, with names that mean something to each format.
fn hostile() -> ComparedFiles {
    let mut files = files(
        &[
            ("a|b`c` <img src=x> @torvalds #1", Some("ms"), 10.0),
            ("=HYPERLINK(\"x\"),\r\n::error::b", Some("@ops/s"), 10.0),
            ("100% **sure** [x](http://example.com)", Some("s"), 0.01),
            ("www.example.com \u{202e}\u{1b}[2J", None, 5.0),
            ("gone\n::stop-commands::x", None, 5.0),
            ("work:total,all", Some("ms"), 5.0),
        ],
        &[
            ("a|b`c` <img src=x> @torvalds #1", Some("us"), 13_000.0),
            ("=HYPERLINK(\"x\"),\r\n::error::b", Some("@ops/s"), 12.0),
            ("100% **sure** [x](http://example.com)", Some("s"), 0.009),
            ("www.example.com \u{202e}\u{1b}[2J", None, 5.0),
            ("+new", None, 5.0),
            ("work:total,all", Some("MB"), 5.0),
        ],
    );
    files.failed.push(FailedChart {
        file: "after.json".into(),
        chart: "-broken".into(),
        reason: "it said \"no\"".into(),
    });
    files
        .warnings
        .push("after.json has no value for `-broken`: it said \"no\"".into());
    files
}

/// Many charts with long names, of which a third is worse, a third better, and a third the same;
/// as many are on one side only, and as many have failed.
fn many(name: impl Fn(usize) -> String, number: usize) -> ComparedFiles {
    let names = |kind: &str| -> Vec<String> {
        (0..number)
            .map(|index| format!("{kind}{}", name(index)))
            .collect()
    };
    let [both, gone, new, failed] = ["", "gone ", "new ", "failed "].map(names);
    let unit = "ü".repeat(30);
    let chart = |factor: fn(usize) -> f64| {
        let unit = &unit;
        move |(index, name): (usize, &String)| (name.clone(), 10.0 * factor(index), unit.clone())
    };
    let before = both.iter().enumerate().map(chart(|_| 1.0));
    let before: Vec<_> = before
        .chain(gone.iter().enumerate().map(chart(|_| 1.0)))
        .collect();
    let after = both
        .iter()
        .enumerate()
        .map(chart(|index| [1.5, 0.5, 1.0][index % 3]));
    let after: Vec<_> = after
        .chain(new.iter().enumerate().map(chart(|_| 1.0)))
        .collect();
    fn borrowed(charts: &[(String, f64, String)]) -> Vec<Chart<'_>> {
        (charts.iter())
            .map(|it| (it.0.as_str(), Some(it.2.as_str()), it.1))
            .collect()
    }
    let down = Some(Direction::Down);
    let mut files = files_with(&borrowed(&before), &borrowed(&after), down);
    files.warnings = failed.clone();
    files.failed = (failed.into_iter())
        .map(|chart| FailedChart {
            file: "after.json".into(),
            chart,
            reason: "no".into(),
        })
        .collect();
    files
}

fn text(text: &Text) -> String {
    let text = String::from_utf8(text.as_bytes().to_vec()).unwrap();
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn compared_files() {
    let mut all = files(
        &[
            ("latency", Some("ms"), 12.5),
            ("throughput", Some("MB/s"), 100.0),
            ("memory", Some("B"), 1e6),
            ("gone", Some("ms"), 1.0),
            ("work", Some("ms"), 1.0),
        ],
        &[
            ("latency", Some("s"), 0.015),
            ("throughput", Some("MB/s"), 120.0),
            ("memory", Some("B"), 0.9e6),
            ("new", Some("ms"), 1.0),
            ("work", Some("MB"), 1.0),
        ],
    );
    insta::assert_snapshot!("compared", text(&table::render(&all)));
    insta::assert_snapshot!("compared_in_color", styles_shown(&table::render(&all)));
    insta::assert_snapshot!("compared_in_markdown", markdown::render(&all));
    // A single value on each side shows nothing.
    all.comparison = {
        let charts = |level: f64| -> BTreeMap<String, Series> {
            let one = |name: &str| {
                let mut series = series(level, Some("ms"));
                series.values.truncate(1);
                (name.to_owned(), series)
            };
            ["a", "b"].map(one).into()
        };
        compare(&[charts(1.0)], &[charts(2.0)], &CompareOptions::default()).unwrap()
    };
    insta::assert_snapshot!("compared_values", text(&table::render(&all)));
}

#[test]
fn compared_pairs() {
    let pairs = |level: f64| -> Vec<BTreeMap<String, Series>> {
        let pair = |value: &f64| {
            let mut series = series(level, Some("ms"));
            series.values = vec![*value];
            [("latency".to_owned(), series)].into()
        };
        series(level, None).values.iter().map(pair).collect()
    };
    let options = CompareOptions {
        paired: true,
        ..CompareOptions::default()
    };
    let mut all = files(&[("a", None, 1.0)], &[("a", None, 1.0)]);
    all.comparison = compare(&pairs(12.5), &pairs(15.0), &options).unwrap();
    insta::assert_snapshot!("compared_in_pairs", text(&table::render(&all)));
}

#[test]
fn hostile_names_mean_nothing_in_any_format() {
    let files = hostile();
    insta::assert_snapshot!("text", text(&table::render(&files)));
    insta::assert_snapshot!("markdown", markdown::render(&files));
    insta::assert_snapshot!("csv", csv::render(&files).replace("\r\n", "<CRLF>\n"));
    insta::assert_snapshot!("github", annotations::render(&files));
}

#[test]
fn a_comment_fits_whatever_the_number_of_charts_is() {
    let long = |index: usize| format!("{index} {}", "|`<@😀".repeat(100));
    for number in [1, 40, 5000] {
        for files in [many(|index| index.to_string(), number), many(long, number)] {
            let comment = markdown::render(&files);
            assert!(comment.len() < COMMENT, "{number}: {}", comment.len());
            let count = |what: &str| comment.matches(what).count();
            assert_eq!(count("<details>"), count("</details>"));
            // What is left out is counted.
            let worse = number.div_ceil(3);
            let shown = count("**worse**");
            let rest = comment.lines().find_map(|line| {
                let (number, _) = line.strip_prefix("… ")?.split_once(" more worse")?;
                number.parse().ok()
            });
            let left_out: usize = rest.unwrap_or(0);
            assert_eq!(shown + left_out, worse, "{number}");
            assert!(shown > 0, "{number}");
        }
    }
}

#[test]
fn annotations_are_few_and_lines_of_their_own() {
    let files = many(|index| format!("a%b:c,d\r\n::error::{index}"), 5000);
    let commands = annotations::render(&files);
    let of = |kind: &str| {
        commands
            .lines()
            .filter(|line| line.starts_with(kind))
            .count()
    };
    let (warnings, notices) = (of("::warning title="), of("::notice title="));
    assert_eq!(warnings + notices, commands.lines().count());
    assert!(warnings <= 10 && notices <= 10, "{warnings}, {notices}");
    assert!(commands.len() < 60_000, "{}", commands.len());
    assert!(commands.contains("1662 more metrics worse"), "{commands}");
    let nothing = annotations::render(&self::files(&[("a", None, 1.0)], &[("a", None, 1.0)]));
    assert_eq!(
        nothing,
        "::notice title=0 of 1 metric moved::after.json compared with before.json\n"
    );
}

#[test]
fn a_terminal_shows_what_moved_and_counts_the_rest() {
    let mut files = many(|index| format!("chart/{index}"), 5000);
    files.warnings.truncate(6);
    let shown = text(&table::render(&files));
    assert!(shown.lines().count() < 120, "{shown}");
    for line in [
        "… 1647 more worse",
        "… 1647 more better",
        "… 1661 more same",
        "only in the control: 5000 metrics",
        "  … 4990 more",
        "3334 of 5000 metrics moved: 1667 worse, 1667 better",
        "not compared: 5000 only in the control, 5000 only in the treatment, 5000 failed",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line} in {shown}");
    }
    // Few are all shown.
    let shown = text(&table::render(&many(|index| format!("chart/{index}"), 40)));
    assert!(!shown.contains("more same"), "{shown}");
}

#[test]
fn the_largest_change_comes_first_and_of_the_undecided_the_likeliest() {
    let level = |change: f64| 10.0 * (1.0 + change);
    let names = ["a", "b", "c", "d"];
    let before = names.map(|name| (name, Some("ms"), 10.0));
    let changes = [0.1, -0.5, 0.3, -0.2];
    let after: Vec<Chart> = names
        .iter()
        .zip(changes)
        .map(|(name, it)| (*name, Some("ms"), level(it)))
        .collect();
    let mut compared = files(&before, &after);
    let order = |compared: &ComparedFiles| -> String {
        let ordered = Ordered::new(&compared.comparison);
        ordered
            .all()
            .iter()
            .map(|chart| chart.chart.as_str())
            .collect()
    };
    assert_eq!(order(&compared), "cabd");
    for (chart, p) in compared
        .comparison
        .charts
        .iter_mut()
        .zip([0.4, 0.2, 0.2, 0.1])
    {
        chart.verdict = Verdict::Unknown;
        chart.p_value = Some(p);
    }
    assert_eq!(order(&compared), "dbca");
}

#[test]
fn rows_of_csv_have_all_columns_and_every_chart() {
    let files = many(|index| format!("a\"{index}\",b\n"), 7);
    let csv = csv::render(&files);
    let rows = parsed(&csv);
    assert!(rows.iter().all(|row| row.len() == 17), "{csv}");
    // The header, both sides, the control's, the treatment's and the failed ones.
    assert_eq!(rows.len(), 1 + 4 * 7);
    let row = rows
        .iter()
        .find(|row| row[0] == "a\"0\",b\n".trim_start_matches('a'))
        .or(rows.get(1));
    let row = row.expect("there are rows");
    assert_eq!(row[1], "worse");
    assert_eq!((row[3].as_str(), row[13].as_str()), ("10.055", "12"));
}

/// A reader of RFC 4180.
fn parsed(csv: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut is_quoted = false;
    let mut characters = csv.chars().peekable();
    while let Some(character) = characters.next() {
        let row = rows.last_mut().unwrap();
        let cell = row.last_mut().unwrap();
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(String::new()),
            '\r' if !is_quoted && characters.peek() == Some(&'\n') => {
                characters.next();
                rows.push(vec![String::new()]);
            }
            other => cell.push(other),
        }
    }
    let last = rows.pop();
    assert_eq!(last, Some(vec![String::new()]), "the last row has no end");
    rows
}
