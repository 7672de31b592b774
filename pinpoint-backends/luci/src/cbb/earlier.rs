//! The results of an earlier system, from a table of comma-separated values: device, control
//! browser, its version, treatment browser, its version, benchmark, and the two medians.

use std::collections::BTreeMap;
use std::io::Read;

use super::perf_format::PerfFile;
use super::tables::{CbbTables, EarlierTables};
use super::version::Version;

/// The columns of a row.
const COLUMNS: usize = 8;

/// The device that had no second browser.
const ALONE: &str = "Pixel Tablet";

/// Chrome's versions from here on are in the tables.
const STABLE: [u32; 3] = [137, 0, 7151];
const DEV: [u32; 3] = [139, 0, 7232];

/// A file of one value.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub content: PerfFile,
}

/// The yield of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EarlierResults {
    /// The files.
    pub files: usize,
    /// The rows that were too short, and left out.
    pub short_rows: usize,
}

/// A table can't be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EarlierError {
    /// It is not a table.
    #[error("the table can't be read: {0}")]
    Table(#[from] csv::Error),
    /// A field has an unknown value.
    #[error("line {line}: {field} {value:?} is not known; known are {known}")]
    Unknown {
        /// The line.
        line: u64,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The known values, in words.
        known: String,
    },
    /// A version can't be placed in the history.
    #[error(
        "line {line}: version {version:?} of Chrome is too new for a made-up position, and has none in the tables; add it there"
    )]
    NoPosition {
        /// The line.
        line: u64,
        /// The version.
        version: String,
    },
    /// A version is not one.
    #[error("line {line}: {version:?} is not a version of four numbers")]
    Version {
        /// The line.
        line: u64,
        /// The text.
        version: String,
    },
    /// A median is not a number.
    #[error("line {line}: the median {value:?} is not a finite number")]
    Median {
        /// The line.
        line: u64,
        /// The text.
        value: String,
    },
    /// Two rows are for the same file.
    #[error("lines {first} and {second} are both for {file}; remove one of them")]
    Twice {
        /// The first line.
        first: u64,
        /// The second line.
        second: u64,
        /// The file.
        file: String,
    },
    /// A file can't be taken.
    #[error("{file} can't be written: {source}")]
    Unwritable {
        /// The file.
        file: String,
        /// The cause.
        source: std::io::Error,
    },
}

/// Reads a table row by row, and gives each file to `take`: none of them is kept. The first row is
/// its header.
///
/// # Errors
///
/// At the first row that can't be converted, or file that is not taken.
pub fn read_earlier(
    table: impl Read,
    tables: &CbbTables,
    mut take: impl FnMut(EarlierFile) -> std::io::Result<()>,
) -> Result<EarlierResults, EarlierError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table);
    let mut results = EarlierResults::default();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        let fields: Vec<&str> = record.iter().collect();
        let Some(
            &[
                device,
                control,
                control_version,
                treatment,
                treatment_version,
                benchmark,
                one,
                other,
            ],
        ) = fields.first_chunk::<COLUMNS>()
        else {
            results.short_rows += 1;
            continue;
        };
        let chrome: Version = control_version.parse().map_err(|_| EarlierError::Version {
            line,
            version: control_version.into(),
        })?;
        let row = Row {
            line,
            device,
            benchmark,
            chrome,
            tables: &tables.v3,
        };
        let control = row.file(control, &chrome.to_string(), one)?;
        let treatment = match device {
            ALONE => None,
            _ => Some(row.file(treatment, treatment_version, other)?),
        };
        for file in std::iter::once(control).chain(treatment) {
            if let Some(first) = lines.insert(file.name.clone(), line) {
                return Err(EarlierError::Twice {
                    first,
                    second: line,
                    file: file.name,
                });
            }
            let name = file.name.clone();
            take(file).map_err(|source| EarlierError::Unwritable { file: name, source })?;
            results.files += 1;
        }
    }
    Ok(results)
}

/// A row, and what both of its browsers have in common.
struct Row<'a> {
    line: u64,
    device: &'a str,
    benchmark: &'a str,
    /// The version of Chrome, which the row was made for.
    chrome: Version,
    tables: &'a EarlierTables,
}

impl Row<'_> {
    fn file(
        &self,
        browser: &str,
        version: &str,
        median: &str,
    ) -> Result<EarlierFile, EarlierError> {
        let tables = self.tables;
        let bot = self.known("device", self.device, &tables.devices)?;
        let title = self.known("browser", browser, &tables.browsers)?;
        let test = self.known("benchmark", self.benchmark, &tables.tests)?;
        let value: Option<f32> = median.trim().parse().ok();
        let value = value.filter(|value| value.is_finite());
        let value = value.ok_or_else(|| EarlierError::Median {
            line: self.line,
            value: median.into(),
        })?;
        let position = u64::from(self.position(browser, version)?);
        let benchmark = self.benchmark;
        let content = PerfFile::earlier(
            bot,
            &format!("{benchmark}.crossbench"),
            position,
            (title, version),
            (test, value),
        );
        let browser = browser.replace(' ', "-");
        Ok(EarlierFile {
            name: format!("{bot}.{benchmark}.{browser}.{position}.json"),
            content,
        })
    }

    fn known<'t>(
        &self,
        field: &'static str,
        value: &str,
        table: &'t BTreeMap<String, String>,
    ) -> Result<&'t str, EarlierError> {
        let known = table.get(value).map(String::as_str);
        known.ok_or_else(|| EarlierError::Unknown {
            line: self.line,
            field,
            value: value.into(),
            known: table.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// The place in the history: by the browser's own table, or that of Chrome's version in the
    /// row; before these tables begin, a made-up one, at even distances.
    fn position(&self, browser: &str, version: &str) -> Result<u32, EarlierError> {
        let positions = &self.tables.commit_positions;
        let is_stable = browser.ends_with("stable");
        let is_chrome = browser.starts_with("chrome");
        let own = positions.get(browser).filter(|_| !is_chrome);
        if let Some(position) = own.and_then(|own| own.get(version)) {
            return Ok(*position);
        }
        let channel = if is_stable { "stable" } else { "dev" };
        let android = if self.device == ALONE {
            ", android"
        } else {
            ""
        };
        let chromes = positions.get(&format!("chrome {channel}{android}"));
        let chrome = self.chrome.to_string();
        if let Some(position) = chromes.and_then(|chromes| chromes.get(&chrome)) {
            return Ok(*position);
        }
        let [major, minor, build, patch] = self.chrome.0;
        let made_up = || {
            let known_from = if is_stable { STABLE } else { DEV };
            if [major, minor, build] >= known_from {
                return None;
            }
            let (major, build, patch) = (i64::from(major), i64::from(build), i64::from(patch));
            let position = match is_stable {
                true => major * 14_000 + patch * 100 - 445_000,
                false => build * 215 + patch * 20 - 80_000,
            };
            u32::try_from(position).ok()
        };
        made_up().ok_or(EarlierError::NoPosition {
            line: self.line,
            version: chrome,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEADER: &str = "Device,Control,Version,Treatment,Version,Benchmark,Control,Treatment\n";

    fn read(rows: &str) -> Result<(EarlierResults, Vec<EarlierFile>), EarlierError> {
        let mut files = Vec::new();
        let table = format!("{HEADER}{rows}");
        let results = read_earlier(table.as_bytes(), CbbTables::builtin(), |file| {
            files.push(file);
            Ok(())
        })?;
        Ok((results, files))
    }

    fn names(rows: &str) -> Vec<String> {
        let (_, files) = read(rows).unwrap();
        files.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_row_is_two_files() {
        let (results, files) = read(
            "Apple M3,chrome stable,137.0.7151.070,safari stable,18.4 (20621.1.15.11.10),speedometer3,40.5,41\n\
             short,row\n",
        )
        .unwrap();
        assert_eq!((results.files, results.short_rows), (2, 1));
        let [chrome, safari] = &files[..] else {
            panic!("two files");
        };
        assert_eq!(
            chrome.name,
            "mac-m3-pro-perf-cbb.speedometer3.chrome-stable.1475903.json"
        );
        assert_eq!(
            safari.name,
            "mac-m3-pro-perf-cbb.speedometer3.safari-stable.1475903.json"
        );
        let expected = json!({
            "version": 1,
            "git_hash": "CP:1475903",
            "key": {
                "master": "ChromiumPerf",
                "bot": "mac-m3-pro-perf-cbb",
                "benchmark": "speedometer3.crossbench",
            },
            "results": [{
                "key": {
                    "test": "Score",
                    "subtest_1": "Chrome Stable (Legacy Data)",
                    "unit": "unitless",
                    "improvement_direction": "up",
                },
                "measurements": {"stat": [{"value": "value", "measurement": 40.5}]},
            }],
            "links": {"Browser Version": "137.0.7151.70"},
        });
        assert_eq!(serde_json::to_value(&chrome.content).unwrap(), expected);
    }

    #[test]
    fn positions_are_those_of_the_tables_or_made_up() {
        let tablet = "Pixel Tablet,chrome stable,137.0.7151.89,,,jetstream2,1,\n";
        let tablet = names(tablet);
        assert_eq!(
            tablet,
            ["android-pixel-tangor-perf-cbb.jetstream2.chrome-stable.1475903.json"]
        );
        // A version that no table has takes the place of Chrome's.
        let edge = "Intel,chrome stable,136.0.7103.113,edge stable,135.0.1.1,motionmark1.3,1,2\n";
        for name in names(edge) {
            assert!(name.ends_with(".1470300.json"), "{name}");
        }
        let dev = "Intel,chrome dev,138.0.7200.2,edge dev,138.0.3324.1,speedometer3,1,2\n";
        let dev = names(dev);
        assert!(
            dev[0].ends_with(&format!(".{}.json", 7_200 * 215 + 40 - 80_000)),
            "{dev:?}"
        );
        assert!(dev[1].ends_with(".1475903.json"), "{dev:?}");
        // As text, 99 comes after 137.
        let old = "Intel,chrome stable,99.0.4844.51,edge stable,1,speedometer3,1,2\n";
        assert!(names(old)[0].ends_with(&format!(".{}.json", 99 * 14_000 + 5_100 - 445_000)));
    }

    #[test]
    fn a_damaged_row_says_what_to_do() {
        let row = "Intel,chrome stable,136.0.7103.113,edge stable,1,speedometer3,1,2\n";
        for (rows, expected) in [
            (
                row.replace("Intel", "Amiga"),
                "line 2: device \"Amiga\" is not known; known are Apple M3",
            ),
            (
                row.replace("edge", "opera"),
                "line 2: browser \"opera stable\"",
            ),
            (
                row.replace("speedometer3", "octane"),
                "line 2: benchmark \"octane\"",
            ),
            (
                row.replace(",1,2", ",fast,2"),
                "line 2: the median \"fast\"",
            ),
            (row.replace(",1,2", ",1,inf"), "line 2: the median \"inf\""),
            (
                row.replace("136.0.7103.113", "138.0.9999.1"),
                "add it there",
            ),
            (
                row.replace("136.0.7103.113", "136"),
                "line 2: \"136\" is not a version",
            ),
            (
                format!("{row}{row}"),
                "lines 2 and 3 are both for win-victus",
            ),
        ] {
            let error = read(&rows).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
