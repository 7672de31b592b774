//! Skia Perf's format, version 1 (`perf/FORMAT.md` of Skia's buildbot repository).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::collect::{Base, Collector};
use super::error::{ResultFault, ResultFileError};
use super::members::{Members, Number};
use super::place::{Step, from_str};
use crate::points::ResultFile;
use crate::source::Source;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "version")]
    _version: u32,
    git_hash: String,
    issue: Option<Number>,
    patchset: Option<Number>,
    key: Option<Members<String>>,
    results: Vec<Measured>,
    links: Option<Members<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    key: Members<String>,
    measurement: Option<f64>,
    measurements: Option<Members<Vec<Single>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Single {
    value: String,
    measurement: f64,
    links: Option<Members<String>>,
}

pub(super) fn read(source: Source, text: &str) -> Result<ResultFile, ResultFileError> {
    let file: File = from_str(text, &source.path)?;
    let key = file.key.unwrap_or_default().0;
    let mut found = Collector::new(source, text, "git_hash", &file.git_hash, &key)?;
    found.set_try(file.issue.map(|it| it.0), file.patchset.map(|it| it.0));
    found.set_links(file.links.unwrap_or_default().0);
    for (index, result) in file.results.into_iter().enumerate() {
        let at = [Step::Name("results"), Step::Index(index)];
        add(&mut found, &key, result, at)?;
    }
    found.finish()
}

fn add(
    found: &mut Collector<'_>,
    key: &BTreeMap<String, String>,
    result: Measured,
    [results, index]: [Step<'_>; 2],
) -> Result<(), ResultFileError> {
    let given = key.iter().chain(&result.key.0);
    let given = given.map(|(key, value)| (&**key, &**value)).collect();
    let fault = |error| found.fail(&[results, index, Step::Name("key")], ResultFault::Id(error));
    let base = Base::new(given).map_err(fault)?;
    match (result.measurement, result.measurements) {
        (Some(value), None) => {
            let path = [results, index, Step::Name("measurement")];
            found.add(&base, None, value, BTreeMap::new(), &path)?;
        }
        (None, Some(measurements)) => {
            for (name, singles) in measurements.0 {
                let at = [
                    results,
                    index,
                    Step::Name("measurements"),
                    Step::Name(&name),
                ];
                for (number, single) in singles.into_iter().enumerate() {
                    let [a, b, c, d] = at;
                    let path = [a, b, c, d, Step::Index(number)];
                    let more = Some((&*name, &*single.value));
                    let links = single.links.unwrap_or_default().0;
                    found.add(&base, more, single.measurement, links, &path)?;
                }
            }
        }
        _ => return Err(found.fail(&[results, index], ResultFault::Measurement)),
    }
    Ok(())
}
