//! Results as Perf reads them: format 1.

use std::collections::BTreeMap;

use serde::Serialize;

use super::comparison::ComparedBrowser;

/// A file of results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PerfFile {
    version: u32,
    git_hash: String,
    key: BTreeMap<String, String>,
    results: Vec<PerfResult>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    links: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct PerfResult {
    key: BTreeMap<String, String>,
    measurements: BTreeMap<String, Vec<Measurement>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Measurement {
    value: String,
    measurement: f32,
}

/// Addresses that belong to results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    /// Of the job.
    pub workflow: String,
    /// Of its tasks.
    pub tasks: String,
}

impl PerfFile {
    /// The results of a benchmark: the samples of all runs together, by chart, with their whole
    /// unit (`ms_smallerIsBetter`). A chart without samples is left out.
    ///
    /// # Arguments
    ///
    /// `position` is the commit's own; `benchmark` ends with `.crossbench`.
    pub fn new(
        browser: &ComparedBrowser,
        benchmark: &str,
        position: u64,
        links: &Links,
        charts: &BTreeMap<String, (String, Vec<f64>)>,
    ) -> Self {
        let results = charts.iter().filter_map(|(chart, (unit, samples))| {
            let value = median(samples)?;
            let mut key = words([
                ("test", chart),
                ("unit", unit),
                ("subtest_1", &browser.title()),
            ]);
            let direction = match () {
                () if unit.ends_with("_smallerIsBetter") => Some("down"),
                () if unit.ends_with("_biggerIsBetter") => Some("up"),
                () => None,
            };
            let direction = direction.map(|it| ("improvement_direction".to_owned(), it.to_owned()));
            key.extend(direction);
            let error = deviation(samples).map(|error| measured("error", error));
            let stat = std::iter::once(measured("value", value)).chain(error);
            Some(PerfResult {
                key,
                measurements: [("stat".to_owned(), stat.collect())].into(),
            })
        });
        Self {
            results: results.collect(),
            links: words([
                ("Browser Version", &browser.version),
                ("Workflow", &links.workflow),
                ("Swarming Tasks", &links.tasks),
            ]),
            ..Self::about(&browser.bot, benchmark, position)
        }
    }

    /// One value of an earlier system.
    pub(super) fn earlier(
        bot: &str,
        benchmark: &str,
        position: u64,
        (browser, version): (&str, &str),
        (test, value): (&str, f32),
    ) -> Self {
        let key = words([
            ("test", test),
            ("subtest_1", &format!("{browser} (Legacy Data)")),
            ("unit", "unitless"),
            ("improvement_direction", "up"),
        ]);
        let stat = vec![Measurement {
            value: "value".into(),
            measurement: value,
        }];
        Self {
            results: vec![PerfResult {
                key,
                measurements: [("stat".to_owned(), stat)].into(),
            }],
            links: words([("Browser Version", version)]),
            ..Self::about(bot, benchmark, position)
        }
    }

    fn about(bot: &str, benchmark: &str, position: u64) -> Self {
        Self {
            version: 1,
            git_hash: format!("CP:{position}"),
            key: words([
                ("master", "ChromiumPerf"),
                ("bot", bot),
                ("benchmark", benchmark),
            ]),
            results: Vec::new(),
            links: BTreeMap::new(),
        }
    }
}

fn words<const N: usize>(words: [(&str, &str); N]) -> BTreeMap<String, String> {
    let words = words.into_iter();
    words
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn measured(value: &str, measurement: f64) -> Measurement {
    Measurement {
        value: value.into(),
        measurement: measurement as f32,
    }
}

fn median(samples: &[f64]) -> Option<f64> {
    let mut samples = samples.to_vec();
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() % 2 {
        1 => samples.get(middle).copied(),
        _ => Some((samples.get(middle.checked_sub(1)?)? + samples.get(middle)?) / 2.0),
    }
}

/// The deviation of a sample; one value has none.
fn deviation(samples: &[f64]) -> Option<f64> {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|it| (it - mean) * (it - mean)).sum();
    (samples.len() > 1).then(|| libm::sqrt(squares / (count - 1.0)))
}

/// The object of these results. `began` is the time of the run's beginning, in RFC 3339 and UTC;
/// `benchmark` ends with `.crossbench`. `None` for another text than a time.
///
/// ```
/// use pinpoint_luci::cbb::{Browser, CbbTables, Channel, ComparedBrowser, object_name};
///
/// let bot = "mac-m3-pro-perf-cbb";
/// let browser = ComparedBrowser::new(CbbTables::builtin(), Browser::Safari, Channel::Stable, "18.4", bot)?;
/// assert_eq!(
///     object_name(&browser, "speedometer3.crossbench", "2026-08-21T11:08:42Z").unwrap(),
///     "ingest/2026/08/21/ChromiumPerf/mac-m3-pro-perf-cbb/110842/speedometer3.crossbench/\
///      cbb_results_speedometer3.crossbench_mac-m3-pro-perf-cbb_safari_stable_2026_08_21_11_08_42.json"
/// );
/// # Ok::<(), pinpoint_luci::cbb::CbbError>(())
/// ```
pub fn object_name(browser: &ComparedBrowser, benchmark: &str, began: &str) -> Option<String> {
    let (date, time) = began.split_once('T')?;
    let time = time.get(..8)?;
    let is_digits = |text: &str, separator: char| {
        let mut digits = text.chars().filter(|it| *it != separator);
        digits.all(|it| it.is_ascii_digit())
    };
    if date.len() != 10 || !is_digits(date, '-') || !is_digits(time, ':') {
        return None;
    }
    let ComparedBrowser {
        browser: name,
        channel,
        bot,
        ..
    } = browser;
    let (folder, clock) = (date.replace('-', "/"), time.replace(':', ""));
    let (day, second) = (date.replace('-', "_"), time.replace(':', "_"));
    Some(format!(
        "ingest/{folder}/ChromiumPerf/{bot}/{clock}/{benchmark}/\
         cbb_results_{benchmark}_{bot}_{name}_{channel}_{day}_{second}.json"
    ))
}

/// The list of the tasks of a job between two times, in milliseconds since 1970.
pub fn task_list(job: &str, began: u64, ended: u64) -> String {
    format!(
        "https://chrome-swarming.appspot.com/tasklist?c=name&c=duration&c=bot&c=state\
         &st={began}&et={ended}&n=false&f=pinpoint_job_id-tag%3A{}",
        escaped(job)
    )
}

/// A text as a part of a path.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Browser, CbbTables, Channel};
    use super::*;

    fn chrome() -> ComparedBrowser {
        let tables = CbbTables::builtin();
        let bot = "mac-m3-pro-perf-cbb";
        let (browser, channel) = (Browser::Chrome, Channel::Stable);
        ComparedBrowser::new(tables, browser, channel, "137.0.7151.70", bot).unwrap()
    }

    #[test]
    fn results_have_the_form_of_perf() {
        let links = Links {
            workflow: "https://pinpoint.example.org/jobs/1".into(),
            tasks: task_list("CBB chr 1.2.3.4 m3 SP", 1, 2),
        };
        let chart = |unit: &str, samples: &[f64]| (unit.to_owned(), samples.to_vec());
        let charts = [
            (
                "Score".to_owned(),
                chart("unitless_biggerIsBetter", &[3.0, 1.0, 2.0, 4.0]),
            ),
            ("Time".to_owned(), chart("ms_smallerIsBetter", &[7.0])),
            ("None".to_owned(), chart("ms", &[])),
            ("Plain".to_owned(), chart("ms", &[1.0, 2.0, 6.0])),
        ];
        let file = PerfFile::new(
            &chrome(),
            "speedometer3.crossbench",
            1_500_000,
            &links,
            &charts.into(),
        );
        let title = "Chrome Stable (Top Finch Variations)";
        let expected = json!({
            "version": 1,
            "git_hash": "CP:1500000",
            "key": {
                "master": "ChromiumPerf",
                "bot": "mac-m3-pro-perf-cbb",
                "benchmark": "speedometer3.crossbench",
            },
            "results": [
                {
                    "key": {"test": "Plain", "unit": "ms", "subtest_1": title},
                    "measurements": {"stat": [
                        {"value": "value", "measurement": 2.0},
                        {"value": "error", "measurement": libm::sqrt(7.0) as f32},
                    ]},
                },
                {
                    "key": {
                        "test": "Score",
                        "unit": "unitless_biggerIsBetter",
                        "subtest_1": title,
                        "improvement_direction": "up",
                    },
                    "measurements": {"stat": [
                        {"value": "value", "measurement": 2.5},
                        {"value": "error", "measurement": libm::sqrt(5.0 / 3.0) as f32},
                    ]},
                },
                {
                    "key": {
                        "test": "Time",
                        "unit": "ms_smallerIsBetter",
                        "subtest_1": title,
                        "improvement_direction": "down",
                    },
                    "measurements": {"stat": [{"value": "value", "measurement": 7.0}]},
                },
            ],
            "links": {
                "Browser Version": "137.0.7151.70",
                "Workflow": "https://pinpoint.example.org/jobs/1",
                "Swarming Tasks": "https://chrome-swarming.appspot.com/tasklist?c=name&c=duration\
                                   &c=bot&c=state&st=1&et=2&n=false\
                                   &f=pinpoint_job_id-tag%3ACBB%20chr%201.2.3.4%20m3%20SP",
            },
        });
        assert_eq!(serde_json::to_value(file).unwrap(), expected);
    }

    #[test]
    fn an_object_needs_a_time() {
        for wrong in ["", "2026-08-21", "2026-08-21T11:08", "yesterdayTnow:then"] {
            assert_eq!(object_name(&chrome(), "b", wrong), None, "{wrong}");
        }
    }
}
