//! The older form of Skia Perf's format, which nanobench writes.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::collect::{Base, Collector};
use super::error::{ResultFault, ResultFileError};
use super::members::{Loose, Members, Number};
use super::place::{Step, from_str};
use crate::points::ResultFile;
use crate::source::Source;

/// The number to which samples belong.
const SAMPLED: &str = "min_ms";

#[derive(serde::Deserialize)]
struct File {
    #[serde(rename = "gitHash")]
    git_hash: String,
    issue: Option<Number>,
    patchset: Option<Number>,
    key: Option<Members<String>>,
    options: Option<Members<String>>,
    results: Members<Option<Members<Option<Config>>>>,
}

/// The numbers of one test in one configuration.
#[derive(Default)]
struct Config {
    options: BTreeMap<String, Loose>,
    samples: Vec<f64>,
    numbers: BTreeMap<String, f64>,
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConfigVisitor;

        impl<'de> Visitor<'de> for ConfigVisitor {
            type Value = Config;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Config, A::Error> {
                let mut config = Config::default();
                let (mut has_options, mut has_samples) = (false, false);
                while let Some(name) = map.next_key::<String>()? {
                    let is_new = match &*name {
                        "options" => {
                            let options: Option<Members<Loose>> = map.next_value()?;
                            config.options = options.unwrap_or_default().0;
                            !std::mem::replace(&mut has_options, true)
                        }
                        "samples" => {
                            let samples: Option<Vec<f64>> = map.next_value()?;
                            config.samples = samples.unwrap_or_default();
                            !std::mem::replace(&mut has_samples, true)
                        }
                        _ => match map.next_value()? {
                            Loose::Number(number) => {
                                config.numbers.insert(name.clone(), number).is_none()
                            }
                            Loose::Text(_) | Loose::Other => true,
                        },
                    };
                    if !is_new {
                        return Err(A::Error::custom(format_args!("`{name}` occurs twice")));
                    }
                }
                Ok(config)
            }
        }

        deserializer.deserialize_map(ConfigVisitor)
    }
}

pub(super) fn read(source: Source, text: &str) -> Result<ResultFile, ResultFileError> {
    let file: File = from_str(text, &source.path)?;
    let key = file.key.unwrap_or_default().0;
    let options = file.options.unwrap_or_default().0;
    let mut found = Collector::new(source, text, "gitHash", &file.git_hash, &key)?;
    found.set_try(file.issue.map(|it| it.0), file.patchset.map(|it| it.0));
    for (test, configs) in file.results.0 {
        for (name, config) in configs.unwrap_or_default().0 {
            let at = [Step::Name("results"), Step::Name(&test), Step::Name(&name)];
            let config = config.unwrap_or_default();
            let mut given: BTreeMap<&str, &str> =
                key.iter().map(|(key, value)| (&**key, &**value)).collect();
            given.extend([("test", &*test), ("config", &*name)]);
            given.extend(options.iter().map(|(key, value)| (&**key, &**value)));
            for (key, value) in &config.options {
                // Those of OpenGL are long, and no one asks for them.
                if let Loose::Text(value) = value
                    && !key.starts_with("GL_")
                {
                    given.insert(key, value);
                }
            }
            let fault = |error| found.fail(&at, ResultFault::Id(error));
            let base = Base::new(given).map_err(fault)?;
            let mut samples = config.samples;
            for (number, value) in config.numbers {
                let [a, b, c] = at;
                let path = [a, b, c, Step::Name(&number)];
                let more = Some(("sub_result", &*number));
                let trace = found.add(&base, more, value, BTreeMap::new(), &path)?;
                if number == SAMPLED && !samples.is_empty() {
                    found.add_samples(trace, std::mem::take(&mut samples));
                }
            }
        }
    }
    found.finish()
}
