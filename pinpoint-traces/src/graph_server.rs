//! Values of traces as messages to Mozilla's graph server.

use std::collections::BTreeMap;

use pinpoint_core::results::talos::{SuiteRule, SuiteRuleError};
use pinpoint_core::results::{GraphServerReport, GraphServerValue, GraphServerValues};

use crate::id::TraceId;

/// The messages of the values at one commit, and the traces that are in none.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphServerExport {
    /// The messages, by machine, branch and test.
    pub reports: Vec<GraphServerReport>,
    /// Traces without `test`, and subtests of -1 or less, which failed.
    pub left_out: Vec<TraceId>,
}

/// The commit of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedBuild<'a> {
    /// The hash of the commit.
    pub changeset: &'a str,
    /// The id of the build, a number; empty if it is not known.
    pub build_id: &'a str,
    /// The time, in seconds since 1970.
    pub date: i64,
}

/// The values can't be messages to the graph server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphServerExportError {
    /// Two traces are one page of one test, so that the server would make a mean of both.
    #[error("`{0}` and `{1}` are the same page of one message; narrow the query to one of them")]
    SamePage(TraceId, TraceId),
    /// The average of a suite can't be made.
    #[error(transparent)]
    Suite(#[from] SuiteRuleError),
}

/// Makes messages to Mozilla's graph server of the values of traces at one commit: one for each
/// `machine` (or else `bot`), `branch`, and `suite` with its `extra_options`.
///
/// A suite with a rule of its own ([`SuiteRule::is_of_its_own`]) is an average: its value, or what
/// the rule makes of its subtests if it has none. Of any other suite the subtests are pages, of which
/// the server makes the mean itself. A counter, and a trace without `suite`, is a test of its own
/// without pages. Names are those of the trace ids, in which `_` stands for characters other than
/// letters, digits, `.`, `_` and `-`.
///
/// # Errors
///
/// [`GraphServerExportError`] for two traces that are the same page, as those of two versions, and for
/// a suite whose average has to be made and can't be.
pub fn graph_server_export<'a>(
    values: impl IntoIterator<Item = (&'a TraceId, f64)>,
    build: ExportedBuild<'_>,
) -> Result<GraphServerExport, GraphServerExportError> {
    let mut suites: BTreeMap<[String; 3], SuiteValues<'a>> = BTreeMap::new();
    let mut left_out = Vec::new();
    for (trace, value) in values {
        let Some(name) = trace.get("test") else {
            left_out.push(trace.clone());
            continue;
        };
        let text = |key: &str| trace.get(key).unwrap_or_default();
        let is_counter = trace.get("kind") == Some("counter");
        let suite = trace.get("suite").filter(|_| !is_counter);
        let options = trace.get("extra_options").filter(|_| suite.is_some());
        let test = match (suite, options) {
            (Some(suite), Some(options)) => format!("{suite}_{options}"),
            (Some(suite), None) => suite.to_owned(),
            (None, _) => name.to_owned(),
        };
        let machine = trace.get("machine").unwrap_or_else(|| text("bot"));
        let group = [machine.to_owned(), text("branch").to_owned(), test];
        let of_suite = suites.entry(group).or_default();
        let page = suite.and_then(|suite| page(name, suite, options));
        if let Some(first) = of_suite.traces.insert(page, trace) {
            return Err(GraphServerExportError::SamePage(
                first.clone(),
                trace.clone(),
            ));
        }
        of_suite.name = suite.unwrap_or_default();
        match page {
            Some(_) if value <= FAILED => left_out.push(trace.clone()),
            Some(page) => of_suite.pages.push((page, value)),
            None => of_suite.whole = Some(value),
        }
    }
    suites.retain(|_, values| values.whole.is_some() || !values.pages.is_empty());
    let reports = suites.into_iter().map(|([machine, branch, test], values)| {
        let mut report = GraphServerReport::new(&machine, &test, &branch, build.changeset);
        build.build_id.clone_into(&mut report.build_id);
        report.date = build.date;
        report.values = values.into_values()?;
        Ok(report)
    });
    Ok(GraphServerExport {
        reports: reports.collect::<Result<_, SuiteRuleError>>()?,
        left_out,
    })
}

/// The values of a test.
#[derive(Default)]
struct SuiteValues<'a> {
    /// The name of the suite, empty for a test without one.
    name: &'a str,
    /// That of the test as a whole.
    whole: Option<f64>,
    pages: Vec<(&'a str, f64)>,
    /// The trace of each page, and of the whole.
    traces: BTreeMap<Option<&'a str>, &'a TraceId>,
}

/// The value of a subtest that failed, at most, as Talos has it.
const FAILED: f64 = -1.0;

impl SuiteValues<'_> {
    fn into_values(self) -> Result<GraphServerValues, SuiteRuleError> {
        if SuiteRule::is_of_its_own(self.name) {
            if let Some(value) = self.whole {
                return Ok(GraphServerValues::Average(value));
            }
            if !self.pages.is_empty() {
                let summary = SuiteRule::ByName.summary(self.name, self.pages)?;
                return Ok(GraphServerValues::Average(summary.value));
            }
        }
        let rows: Vec<(f64, Option<&str>)> = match self.pages.is_empty() {
            true => self.whole.map(|value| (value, None)).into_iter().collect(),
            false => (self.pages.into_iter())
                .map(|(page, value)| (value, Some(page)))
                .collect(),
        };
        let rows = (0..).zip(rows);
        let rows = rows.map(|(at, (value, page))| GraphServerValue::new(at, value, page));
        Ok(GraphServerValues::Values(rows.collect()))
    }
}

/// The page in the name of a chart: that of `tp5o/page [e10s]`, which a trace id writes
/// `tp5o_page__e10s_`. `None` for the name of the whole suite.
fn page<'a>(name: &'a str, suite: &str, options: Option<&str>) -> Option<&'a str> {
    let rest = name.strip_prefix(suite)?;
    let without_options = |options| {
        let rest = rest.strip_suffix('_')?.strip_suffix(options)?;
        rest.strip_suffix("__")
    };
    let rest = options.and_then(without_options).unwrap_or(rest);
    rest.strip_prefix('_').filter(|page| !page.is_empty())
}

#[cfg(test)]
mod tests {
    use pinpoint_core::results::Format;

    use super::*;
    use crate::points::CommitName;
    use crate::read::points_of_charts;
    use crate::source::Source;

    const BUILD: ExportedBuild<'_> = ExportedBuild {
        changeset: "abcdef123456",
        build_id: "13",
        date: 1_229_477_017,
    };

    fn export(values: &[(&str, f64)]) -> GraphServerExport {
        let ids: Vec<(TraceId, f64)> = (values.iter())
            .map(|(id, value)| (id.parse().unwrap(), *value))
            .collect();
        let values = ids.iter().map(|(id, value)| (id, *value));
        graph_server_export(values, BUILD).unwrap()
    }

    fn written(export: &GraphServerExport) -> String {
        export
            .reports
            .iter()
            .map(GraphServerReport::write)
            .collect()
    }

    #[test]
    fn suites_are_messages_with_pages_or_an_average() {
        let found = export(&[
            (",branch=b,machine=m,suite=tp5,test=tp5,", 9.0),
            (",branch=b,machine=m,suite=tp5,test=tp5_page_01,", 1.0),
            (",branch=b,machine=m,suite=tp5,test=tp5_page_02,", 2.5),
            (",branch=b,machine=m,suite=tp5,test=tp5_failed,", -1.0),
            (
                ",branch=b,kind=counter,machine=m,suite=tp5,test=tp5_RSS.mean,",
                7.0,
            ),
            (",bot=n,suite=kraken,test=kraken_a,", 3.0),
            (",bot=n,suite=kraken,test=kraken_b,", 0.125),
            (",bot=n,suite=tcanvasmark,test=tcanvasmark,", 6204.5),
            (",bot=n,suite=tcanvasmark,test=tcanvasmark_x,", 1.0),
            (
                ",bot=n,extra_options=e10s__st,suite=tp5o,test=tp5o_a.com__e10s__st_,",
                4.0,
            ),
            (
                ",bot=n,extra_options=e10s__st,suite=tp5o,test=tp5o__e10s__st_,",
                5.0,
            ),
            (",bot=n,test=sort,", 8.0),
            (",bot=n,os=linux,", 8.0),
        ]);
        let left_out: Vec<String> = found.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(
            left_out,
            [
                ",branch=b,machine=m,suite=tp5,test=tp5_failed,",
                ",bot=n,os=linux,"
            ]
        );
        let message = |kind: &str, header: &str, rows: &str| {
            format!("START\n{kind}\n{header},abcdef123456,13,1229477017\n{rows}\nEND\n")
        };
        let expected = [
            message("VALUES", "m,tp5,b", "0,1.00,page_01\n1,2.50,page_02"),
            message("VALUES", "m,tp5_RSS.mean,b", "0,7.00,NULL"),
            message("AVERAGE", "n,kraken,", "3.125"),
            message("VALUES", "n,sort,", "0,8.00,NULL"),
            message("AVERAGE", "n,tcanvasmark,", "6204.5"),
            message("VALUES", "n,tp5o_e10s__st,", "0,4.00,a.com"),
        ];
        assert_eq!(written(&found), expected.concat());
    }

    #[test]
    fn what_is_read_is_written_again() {
        let text = "START\nVALUES\nmachine_1,tp5,branch,abcdef123456,13,1229477017\n\
                    0,1.00,page_01\n1,2.00,page_02\nEND\n";
        let readings = Format::GraphServer.read_by_origin(text.as_bytes()).unwrap();
        let [one] = &readings[..] else {
            panic!("{readings:?}");
        };
        let commit = CommitName::read(one.origin.revision.as_deref().unwrap()).unwrap();
        let source = Source::new("a", 0);
        let (key, charts) = (&one.origin.parameters, &one.reading.charts);
        let made = points_of_charts(source, commit, key, charts, Default::default()).unwrap();
        let values = made.file.points.iter().map(|it| (&it.trace, it.value));
        let export = graph_server_export(values, BUILD).unwrap();
        assert_eq!(written(&export), text);
    }

    #[test]
    fn failed_subtests_are_left_out_and_one_page_of_two_traces_is_an_error() {
        let trace: TraceId = ",suite=kraken,test=kraken_a,".parse().unwrap();
        let export = graph_server_export([(&trace, -1.0)], BUILD).unwrap();
        assert_eq!((export.reports.len(), export.left_out.len()), (0, 1));
        let [a, b]: [TraceId; 2] = ["33", "34"].map(|version| {
            format!(",suite=ts,test=ts_a,version={version},")
                .parse()
                .unwrap()
        });
        let error = graph_server_export([(&a, 1.0), (&b, 2.0)], BUILD).unwrap_err();
        assert!(error.to_string().contains("version=34"), "{error}");
    }
}
