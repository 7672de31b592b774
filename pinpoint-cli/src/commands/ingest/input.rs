//! Files of results on the disk, and what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pinpoint_backends::local::Results;
use pinpoint_core::Aggregate;
use pinpoint_core::results::talos::TalosValues;
use pinpoint_core::results::{Format, OriginReading, Output as Content, ReadError, unread_values};
use pinpoint_traces::{
    ChartPoints, ChartsError, CommitName, CommitNameError, ResultFile, ResultFileError, Source,
    points_of_charts, read_results,
};
use serde::de::IgnoredAny;

use crate::arguments::FileFormat;

/// The largest file that is read: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// A file of results, or a folder of Criterion's.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// Its name in the history: below the repository, if it is in there, else from the root on.
    pub(super) name: String,
}

/// The options that all files are read with.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) format: FileFormat,
    pub(super) commit: Option<CommitName>,
    pub(super) key: BTreeMap<String, String>,
    pub(super) talos_values: TalosValues,
    /// The latest time of a run that is taken, in seconds since 1970.
    pub(super) latest: i64,
    pub(super) aggregate: Aggregate,
}

/// The contents of a file, and remarks on it.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) file: ResultFile,
    pub(super) warnings: Vec<String>,
}

/// A file that is not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum RefusedFile {
    #[error("can't be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("is no regular file")]
    Special,
    #[error("is empty")]
    Empty,
    #[error("has more than {} MiB; split it", MOST_BYTES >> 20)]
    TooLarge,
    #[error("{}{}", place_in_words(.0), .0.fault)]
    Skia(ResultFileError),
    #[error(transparent)]
    Format(#[from] ReadError),
    #[error(transparent)]
    Charts(#[from] ChartsError),
    #[error("names no commit; name the one that was measured with --commit")]
    NoCommit,
    #[error("names two commits, `{0}` and `{1}`; split it, a file for each")]
    TwoCommits(String, String),
    #[error("names two branches, `{0}` and `{1}`; split it, a file for each")]
    TwoBranches(String, String),
    #[error("names its suites, whose subtests are named after them; leave `suite` out of --key")]
    SuiteKey,
    #[error("{0}; name the commit that was measured with --commit")]
    Commit(#[from] CommitNameError),
    #[error("has no value that could be taken")]
    NoValues,
    #[error("is no folder of Criterion.rs, and no file in it can be read otherwise")]
    Folder,
}

fn place_in_words(error: &ResultFileError) -> String {
    (error.place.as_ref()).map_or_else(String::new, |place| format!("{place}: "))
}

/// The inputs at a path: the path itself, or the files of a folder, in order. Hidden files are left
/// out, and links to folders are not followed.
pub(super) fn inputs(
    path: &Path,
    format: &FileFormat,
    root: Option<&Path>,
) -> io::Result<Vec<Input>> {
    let whole = path.canonicalize()?;
    let is_criterion = |folder: &Path| -> io::Result<bool> {
        let may_be = matches!(format, FileFormat::Charts(Format::Auto | Format::Criterion));
        // Nothing of its files is read: only whether there are any.
        Ok(may_be
            && match Results::load(folder, 0)? {
                Some(Results::Folder(files)) => !files.is_empty(),
                Some(Results::File(_)) => false,
                None => true,
            })
    };
    let mut found = Vec::new();
    if !whole.is_dir() || is_criterion(&whole)? {
        found.push(whole);
    } else {
        walk(&whole, &mut found)?;
    }
    let named = |path: PathBuf| {
        let below = root.and_then(|root| path.strip_prefix(root).ok());
        let name = below.unwrap_or(&path).to_string_lossy().into_owned();
        Input { path, name }
    };
    Ok(found.into_iter().map(named).collect())
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = std::fs::read_dir(folder)?;
    let mut entries: Vec<_> = entries.collect::<io::Result<_>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, found)?;
        } else if path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

impl Reader {
    /// Reads a file, all of it or nothing.
    pub(super) fn read(&self, input: &Input) -> Result<ReadFile, RefusedFile> {
        let metadata = input.path.metadata()?;
        if !metadata.is_file() && !metadata.is_dir() {
            // A pipe might never end.
            return Err(RefusedFile::Special);
        }
        let results = Results::load(&input.path, MOST_BYTES)?.ok_or(RefusedFile::TooLarge)?;
        let modified = match &results {
            Results::File(content) if content.trim_ascii().is_empty() => {
                return Err(RefusedFile::Empty);
            }
            Results::File(_) => modified(&metadata),
            Results::Folder(files) => newest(&input.path, files)?,
        };
        let source = Source::new(input.name.clone(), modified);
        match (&self.format, &results) {
            (FileFormat::Skia, Results::File(content)) => return skia(source, content),
            (FileFormat::Charts(Format::Auto), Results::File(content)) if is_skia(content) => {
                return skia(source, content);
            }
            (FileFormat::Skia, Results::Folder(_)) => return Err(RefusedFile::Folder),
            (FileFormat::Charts(_), _) => {}
        }
        self.charts(source, results.output())
    }

    fn charts(&self, mut source: Source, output: Content<'_>) -> Result<ReadFile, RefusedFile> {
        let format = self.format_of(output)?;
        let readings = format.read_by_origin(output)?;
        let (commit, mut warnings) = self.commit_of(&readings)?;
        self.check_parameters(&readings)?;
        let dates = readings.iter().filter_map(|it| it.origin.date);
        match dates.max() {
            Some(date) if date > self.latest => warnings.push(format!(
                "its date {date} (seconds since 1970) is in the future, and not taken"
            )),
            Some(date) => source.modified = date.saturating_mul(1000),
            None => {}
        }
        let mut made: Option<ChartPoints> = None;
        for OriginReading {
            origin, reading, ..
        } in readings
        {
            let mut key = origin.parameters;
            key.extend(self.key.clone());
            let more = points_of_charts(
                source.clone(),
                commit.clone(),
                &key,
                &reading.charts,
                self.aggregate,
            )?;
            warnings.extend(reading.remarks);
            let failed = reading.failed.iter();
            warnings
                .extend(failed.map(|(chart, reason)| format!("no value for `{chart}`: {reason}")));
            match &mut made {
                None => made = Some(more),
                Some(made) => made.join(more)?,
            }
        }
        let made = made.filter(|made| !made.file.points.is_empty());
        let ChartPoints { file, left_out } = made.ok_or(RefusedFile::NoValues)?;
        let none = |chart| format!("the values of `{chart}` have no {}", self.aggregate);
        warnings.extend(left_out.iter().map(none));
        if let Content::File(content) = output
            && let Some(unread) = unread_values(content, Some(&format)).first()
        {
            let (line, text, hint) = (unread.line, &unread.text, &unread.hint);
            warnings.push(format!("line {line} is not read: `{text}` ({hint})"));
        }
        Ok(ReadFile { file, warnings })
    }

    /// The format of an output, with the values of Talos that count.
    fn format_of(&self, output: Content<'_>) -> Result<Format, RefusedFile> {
        let format = match &self.format {
            FileFormat::Charts(Format::Auto) | FileFormat::Skia => Format::recognize(output)?,
            FileFormat::Charts(format) => format.clone(),
        };
        Ok(match format {
            Format::Talos(TalosValues::Replicates) => Format::Talos(self.talos_values),
            format => format,
        })
    }

    /// Checks what a file says of itself once for all of its values.
    fn check_parameters(&self, readings: &[OriginReading]) -> Result<(), RefusedFile> {
        let parameters = || readings.iter().map(|it| &it.origin.parameters);
        let has_suite = parameters().any(|it| it.contains_key("suite"));
        if has_suite && self.key.contains_key("suite") {
            return Err(RefusedFile::SuiteKey);
        }
        let branches: BTreeSet<&String> = parameters().filter_map(|it| it.get("branch")).collect();
        let mut branches = branches.into_iter();
        match (branches.next(), branches.next()) {
            (Some(first), Some(second)) if !self.key.contains_key("branch") => {
                Err(RefusedFile::TwoBranches(first.clone(), second.clone()))
            }
            _ => Ok(()),
        }
    }

    /// The commit that was measured, by the options or else by the file itself.
    fn commit_of(
        &self,
        readings: &[OriginReading],
    ) -> Result<(CommitName, Vec<String>), RefusedFile> {
        let mut named = readings
            .iter()
            .filter_map(|it| it.origin.revision.as_deref());
        let mut first = named.next();
        for other in named {
            // A hash may be written in full and shortened.
            match first {
                Some(known) if known.starts_with(other) => {}
                Some(known) if !other.starts_with(known) => {
                    return Err(RefusedFile::TwoCommits(known.to_owned(), other.to_owned()));
                }
                _ => first = Some(other),
            }
        }
        let Some(given) = &self.commit else {
            let commit = CommitName::read(first.ok_or(RefusedFile::NoCommit)?)?;
            return Ok((commit, Vec::new()));
        };
        let other = first.filter(|it| CommitName::read(it).as_ref() != Ok(given));
        let warning = |it| format!("names the commit `{it}`, but --commit names {given}");
        Ok((given.clone(), other.map(warning).into_iter().collect()))
    }
}

fn skia(source: Source, content: &[u8]) -> Result<ReadFile, RefusedFile> {
    let file = read_results(source, content).map_err(RefusedFile::Skia)?;
    Ok(ReadFile {
        file,
        warnings: Vec::new(),
    })
}

/// Returns true for a file of Skia Perf: a document that names its commit. Other tools name it
/// further inside, as in the context of Google Benchmark. In a damaged one the name is looked for.
fn is_skia(content: &[u8]) -> bool {
    const NAMES: [&str; 2] = ["git_hash", "gitHash"];
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    if !content.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    match serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(content) {
        Ok(members) => NAMES.iter().any(|name| members.contains_key(*name)),
        Err(_) => NAMES.iter().any(|name| {
            let quoted = format!("\"{name}\"");
            content
                .windows(quoted.len())
                .any(|it| it == quoted.as_bytes())
        }),
    }
}

/// The time of modification, in milliseconds of Unix time.
fn modified(metadata: &Metadata) -> i64 {
    let Ok(modified) = metadata.modified() else {
        return 0;
    };
    let milliseconds = |it: std::time::Duration| i64::try_from(it.as_millis()).unwrap_or(i64::MAX);
    match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => milliseconds(since),
        Err(before) => -milliseconds(before.duration()),
    }
}

/// The latest time of modification of files in a folder.
fn newest(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<i64> {
    let mut newest = i64::MIN;
    for name in files.keys() {
        newest = newest.max(modified(&folder.join(name).metadata()?));
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(format: FileFormat) -> Reader {
        Reader {
            format,
            commit: Some(CommitName::read("abcd").unwrap()),
            key: BTreeMap::from([("os".into(), "linux".into())]),
            talos_values: TalosValues::Filtered,
            latest: i64::MAX,
            aggregate: Aggregate::default(),
        }
    }

    #[test]
    fn files_of_skia_are_recognized_and_all_others_are_charts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            std::fs::write(folder.path().join(name), content).unwrap();
        };
        std::fs::create_dir_all(folder.path().join("b/.git")).unwrap();
        write("b/.git/x", "1");
        write("a.txt", "sort: 3 ms\nsort: 5 ms\n");
        write(
            "b/new.json",
            r#"{"version": 1, "git_hash": "1234abcd", "results": [{"key": {"t": "u"}, "measurement": 2}]}"#,
        );
        write("b/old.json", r#"{"gitHash": "1234abcd", "#);
        write("c.txt", "");
        write(
            "d.json",
            r#"{"context": {"git_hash": "1234abcd"}, "benchmarks": [{"name": "BM_sort", "run_name": "BM_sort",
                "run_type": "iteration", "iterations": 9, "real_time": 7, "cpu_time": 7, "time_unit": "ns"}]}"#,
        );
        let auto = FileFormat::Charts(Format::Auto);
        let found = inputs(
            folder.path(),
            &auto,
            Some(&folder.path().canonicalize().unwrap()),
        );
        let found = found.unwrap();
        let names: Vec<&str> = found.iter().map(|it| &*it.name).collect();
        assert_eq!(
            names,
            ["a.txt", "b/new.json", "b/old.json", "c.txt", "d.json"]
        );
        let reader = reader(auto);
        let read: Vec<_> = found.iter().map(|it| reader.read(it)).collect();
        let chart = &read[0].as_ref().unwrap().file;
        assert_eq!(
            chart.points[0].trace.as_str(),
            ",improvement_direction=down,os=linux,test=sort,unit=ms,"
        );
        assert_eq!(chart.points[0].value, 4.0);
        let skia = &read[1].as_ref().unwrap().file;
        assert_eq!(skia.commit.to_string(), "1234abcd");
        assert_eq!(skia.points[0].trace.as_str(), ",t=u,");
        let damaged = read[2].as_ref().unwrap_err().to_string();
        assert!(damaged.contains("line 1"), "{damaged}");
        assert_eq!(read[3].as_ref().unwrap_err().to_string(), "is empty");
        let inside = &read[4].as_ref().unwrap().file;
        assert_eq!(inside.commit.to_string(), "abcd");
        let nameless = Reader {
            commit: None,
            ..reader
        };
        let error = nameless.read(&found[0]).unwrap_err().to_string();
        assert!(error.contains("--commit"), "{error}");
    }
}
