//! Logs of a browser, as the wiki of Mozilla and Talos' own tests show them.

use proptest::prelude::*;

use super::report::{Figures, average_of_pages};
use super::*;
use crate::results::Format;

const LOG: &str = include_str!("../../../tests/results/browser-output.txt");

const TIMES: &str = "__startTimestamp1327556458940__endTimestamp\n__startBeforeLaunchTimestamp1327556130230__endBeforeLaunchTimestamp\n__startAfterTerminationTimestamp1327556459158__endAfterTerminationTimestamp\n";

fn values<'a>(reading: &'a Reading, chart: &str) -> &'a [f64] {
    &reading.charts[chart].values
}

#[test]
fn the_figures_of_a_page_leave_out_the_largest_run() {
    for (runs, [median, mean, min, max]) in [
        (
            [226.0, 165.0, 163.0, 162.0, 162.0],
            [162.5, 163.0, 162.0, 226.0],
        ),
        ([35.0, 31.0, 31.0, 29.0, 36.0], [31.0, 31.5, 29.0, 36.0]),
        (
            [15059.0, 15065.0, 15065.0, 15066.0, 15086.0],
            [15065.0, 15063.75, 15059.0, 15086.0],
        ),
    ] {
        let expected = Figures {
            median,
            mean,
            min,
            max,
        };
        assert_eq!(Figures::of(&mut runs.to_vec()), Some(expected));
    }
}

#[test]
fn the_averages_leave_out_the_largest_page() {
    let medians = [
        162.5, 77.0, 31.5, 31.0, 31.0, 15065.0, 15064.5, 5038.0, 5081.5, 6369.5, 9270.0, 3623.5,
    ];
    let average = average_of_pages(&medians).unwrap();
    assert!((average - 4_070.909_090_909_091).abs() < 1e-9, "{average}");
}

#[test]
fn a_log_is_read_whole() {
    let reading = read(LOG).unwrap();
    // Printed figures follow from the runs: 4070.7273 is printed as 4070.73.
    assert_eq!(reading.remarks, Vec::<String>::new());
    assert_eq!(reading.charts.len(), 12 + 3 + 2 + 1);
    assert_eq!(values(&reading, "launch"), [328_710.0]);
    assert_eq!(values(&reading, "exit"), [218.0]);
    assert_eq!(values(&reading, "cycle_collect"), [1137.0]);
    assert_eq!(values(&reading, "responsiveness"), [25.0, 51.0]);
    assert_eq!(values(&reading, "rss/Main"), [103_636_992.0, 104_857_600.0]);
    assert_eq!(reading.charts["rss/Content"].unit.as_deref(), Some("B"));
    assert_eq!(
        values(&reading, "gearflowers.svg"),
        [226.0, 165.0, 163.0, 162.0, 162.0]
    );
    assert!(reading.charts.contains_key("four.svg"));
    assert!(reading.charts.contains_key("seven.xml"));
}

#[test]
fn it_is_recognized_with_other_ends_of_lines() {
    let plain = read(LOG).unwrap();
    for log in [LOG.to_owned(), LOG.replace('\n', "\r\n")] {
        assert_eq!(
            Format::recognize(log.as_bytes()).unwrap(),
            Format::BrowserOutput
        );
        assert_eq!(read(&log).unwrap(), plain);
    }
}

#[test]
fn figures_that_do_not_follow_are_remarked_on() {
    for (printed, other, line) in [
        (
            "162.5;163;162;226",
            "163;163;162;226",
            "line 11 prints 163 as the median of `gear",
        ),
        (
            "162.5;163;162;226",
            "162.5;175.6;162;226",
            "line 11 prints 175.6 as the mean",
        ),
        (
            "162.5;163;162;226",
            "162.5;163;163;226",
            "line 11 prints 163 as the min",
        ),
        (
            "162.5;163;162;226",
            "162.5;163;162;165",
            "line 11 prints 165 as the max",
        ),
        (
            "load,4070.909090909091",
            "load,4070.9",
            "line 8 prints 4070.9 as the average of the pages' medians",
        ),
        (
            "average|4070.73",
            "average|4070.74",
            "line 9 prints 4070.74 as the average of the pages' means",
        ),
    ] {
        let remarks = read(&LOG.replacen(printed, other, 1)).unwrap().remarks;
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].starts_with(line), "{remarks:?}");
    }
    // One that is absent is not compared.
    let absent = LOG.replacen("162.5;163;162;226", "NaN;NaN;NaN;NaN", 1);
    assert!(read(&absent).unwrap().remarks.is_empty());
}

#[test]
fn remarks_are_bounded() {
    let rows = (0..500).map(|row| format!("|{row};page{row};9;9;9;9;1;2;3\n"));
    let rows: String = rows.collect();
    let header = "|i|pagename|median|mean|min|max|runs|\n";
    let log = format!("__start_tp_report\n{header}{rows}__end_tp_report\n{TIMES}");
    let remarks = read(&log).unwrap().remarks;
    assert_eq!(remarks.len(), 21);
    assert_eq!(
        remarks[20],
        "1980 more printed figures do not follow from the runs"
    );
}

#[test]
fn newer_rows_have_runs_only() {
    let rows = "_x_x_mozilla_page_load\n_x_x_mozilla_page_load_details\n|i|pagename|runs|\n|0;amazon.com/www.amazon.com/index.html;2386;1146\n";
    let log = format!("__start_tp_report\n{rows}__end_tp_report\n{TIMES}");
    let reading = read(&log).unwrap();
    assert_eq!(values(&reading, "amazon.com"), [2386.0, 1146.0]);
    assert!(recognize(&log));
}

#[test]
fn a_report_may_have_no_header() {
    for (report, chart, expected) in [
        ("374|382|390.5", "value", vec![374.0, 382.0, 390.5]),
        ("\n374\n", "value", vec![374.0]),
        ("\na/,1,2\nb,3\n", "a", vec![1.0, 2.0]),
    ] {
        let log = format!("noise\n__start_report{report}__end_report\n\n{TIMES}");
        assert_eq!(values(&read(&log).unwrap(), chart), expected, "{report}");
        assert!(recognize(&log));
    }
}

#[test]
fn a_page_that_stands_twice_is_lost() {
    let log = format!("__start_report\na/x,1\na/y,2\nb,3\n__end_report\n{TIMES}");
    let reading = read(&log).unwrap();
    assert!(reading.failed.contains_key("a") && reading.charts.contains_key("b"));
}

#[test]
fn a_failure_is_a_run_that_failed() {
    for (log, line) in [
        (format!("{LOG}\n__FAILbrowser frozen__FAIL\n"), 32),
        (
            "__start_tp_report\n|i|page\n__FAILbrowser frozen__FAIL\n".into(),
            3,
        ),
        ("__FAIL\nbrowser frozen\n__FAIL".into(), 1),
    ] {
        let error = read(&log).unwrap_err();
        let ReadError::RunFailed { place, reason } = error else {
            panic!("{error}");
        };
        assert_eq!(reason, "browser frozen");
        assert!(
            place
                .to_string()
                .starts_with(&format!("line {line}, column 1")),
            "{place}"
        );
    }
    assert!(recognize("\n__FAILbrowser frozen__FAIL\n"));
    let error = read("a\n__FAILbrowser").unwrap_err().to_string();
    assert!(error.starts_with("line 2, column 1 "), "{error}");
}

/// Whole seconds, cut off, may be before the report.
#[test]
fn an_end_in_whole_seconds_loses_its_chart_only() {
    let reading = read(&LOG.replace("1327556459158", "1327556458000")).unwrap();
    assert!(reading.failed.contains_key("exit") && reading.charts.contains_key("launch"));
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let plain = |rows: &str| {
        format!("__start_tp_report\n|i|pagename|runs|\n{rows}__end_tp_report\n{TIMES}")
    };
    let figures = "|i|pagename|median|mean|min|max|runs|\n";
    let sound = plain("|0;a;1;2\n");
    let reports = |report: &str| format!("__start_report\n{report}__end_report\n{TIMES}");
    let start = "__startTimestamp1327556458940__endTimestamp\n";
    assert!(read(&sound).is_ok());
    for (log, expected) in [
        // Rows.
        (plain("|0;a;1;x\n"), "line 3, column 8 holds `x`"),
        (plain("|0;a;1;NaN\n"), "line 3, column 8 holds NaN"),
        (plain("|0;a;1;\n"), "line 3, column 8 "),
        (plain("|0;a\n"), "line 3, column 2 "),
        (plain("|0;;1\n"), "line 3, column 4 "),
        (plain("|x;a;1\n"), "line 3, column 2 "),
        (plain("0;a;1\n"), "line 3, column 1 "),
        (plain("|i|pagename|runs|\n"), "line 3, column 1 "),
        (
            plain("|i|pages|runs|\n").replace("|i|pagename|runs|\n", ""),
            "line 2, column 1 ",
        ),
        (
            plain("|0;a;1\n").replace("|i|pagename|runs|\n", ""),
            "line 2, column 2 ",
        ),
        (
            plain("|0;a;1;1;1;1\n").replace("|i|pagename|runs|\n", figures),
            "line 3, column 2 ",
        ),
        (
            plain("|0;a;1;y;1;1;1\n").replace("|i|pagename|runs|\n", figures),
            "line 3, column 8 ",
        ),
        (plain(""), "line 3, column 1 "),
        (reports("a,1\nb\n"), "line 3, column 1 "),
        (reports("1|x\n"), "line 2, column 3 "),
        (reports("1|2\n3\n"), "line 3, column 1 "),
        (reports(",2\n"), "line 2, column 1 "),
        // Parts.
        (sound.replace("__end_tp_report\n", ""), "line 4, column 1 "),
        (
            sound.replace("__start_tp_report\n", ""),
            "line 3, column 1 ",
        ),
        (
            sound.replace("__end_tp_report", "__end_report"),
            "line 4, column 1 ",
        ),
        (format!("{sound}{sound}"), "line 8, column 1 "),
        (sound.replace(TIMES, &reports("1\n")), "line 5, column 1 "),
        (sound.replace(start, ""), "line 7, column 1 "),
        (sound.replace(start, &start.repeat(2)), "line 6, column 1 "),
        (sound.replace(start, "") + start, "line 7, column 1 "),
        (TIMES.into(), "line 4, column 1 "),
        (sound[..sound.len() - 8].into(), "line 7, column "),
        (
            sound.replace("1327556458940_", "132755645894O_"),
            "line 5, column 17 ",
        ),
        (sound.replace("1327556458940", ""), "line 5, column 17 "),
        (
            sound.replace("1327556130230", "1327556999999"),
            "line 8, column 1 ",
        ),
        (
            sound.replace("1327556459158", "1327556450000"),
            "line 8, column 1 ",
        ),
        (
            "__start_tp_report\n|i|pagename|runs|\n|0;a;1".into(),
            "line 3, column 7 ",
        ),
        // Others.
        (format!("{sound}RSS: Main\n"), "line 8, column 1 "),
        (format!("{sound}RSS: Main: 5O\n"), "line 8, column 12 "),
        (format!("{sound}RSS: Main: 5"), "line 8, column 1 "),
        (
            format!("{sound}MOZ_EVENT_TRACE sample 5\n"),
            "line 8, column 1 ",
        ),
        (
            format!("{sound}MOZ_EVENT_TRACE sample 5 x\n"),
            "line 8, column 26 ",
        ),
        (
            sound.replace(
                start,
                &format!("__start_cc_report\n5\n__end_cc_report\n{start}"),
            ),
            "line 6, column 1 ",
        ),
        (
            sound.replace(
                start,
                &format!("__start_cc_report\n__end_cc_report\n{start}"),
            ),
            "line 6, column 1 ",
        ),
        (format!("{sound}__start_cc_report\n"), "line 8, column 1 "),
    ] {
        match read(&log) {
            Ok(reading) => panic!("{log} gives {reading:?}"),
            Err(error) => assert!(error.to_string().starts_with(expected), "{log}: {error}"),
        }
    }
}

proptest! {
    #[test]
    fn a_log_cut_anywhere_gives_all_or_nothing(end in 0..LOG.len()) {
        let whole = read(LOG).unwrap();
        if let Ok(part) = read(&LOG[..end]) {
            prop_assert_eq!(part, whole);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(
        parts in proptest::collection::vec(
            prop::sample::select(vec![
                "__start_tp_report", "__end_tp_report", "__start_report", "__end_report",
                "__start_cc_report", "__end_cc_report", "__startTimestamp", "__endTimestamp",
                "__FAIL", "|i|pagename|runs|\n", "|i|pagename|median|mean|min|max|runs|\n",
                "|0;a;1;2;3;4;5;6\n", "5", ",", "|", "\n", "é", "RSS: a: 5\n", "_",
                "_x_x_mozilla_page_load", "_details,avgmedian|5|average|",
                "MOZ_EVENT_TRACE sample 1 2\n",
            ]),
            0..12,
        ),
    ) {
        let log = parts.concat();
        let _ = read(&log);
        let _ = read(&format!("{log}{TIMES}"));
        recognize(&log);
    }
}
