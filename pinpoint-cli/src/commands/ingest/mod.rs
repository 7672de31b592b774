//! `pinpoint ingest`: files of results become values of the history.

mod input;
mod line;
mod seen;

use std::collections::BTreeMap;
use std::path::Path;

use pinpoint_backends::local::Repository;
use pinpoint_backends::traces::{History, Ingested};
use pinpoint_core::results::Format;
use pinpoint_core::results::talos::TalosValues;
use pinpoint_traces::{CommitName, ResultFile, Source, points_of_charts};

use self::input::{Input, Reader, inputs};
use self::line::Added;
pub(crate) use self::line::git;
pub(crate) use self::seen::SeenFiles;
use crate::arguments::{Display, FileFormat, Ingest, Output, with_talos_values};
use crate::error::CliError;
use crate::exit_code::{FOUND, INTERRUPTED, WRONG_INPUT};
use crate::job::clock::now;
use crate::job::stop::Interrupt;
use crate::job::storage::open_traces;
use crate::show::ingested::{IngestReport, Refused, WaitingFile, render};
use crate::show::output::{errln, print_result_json, print_text};
use crate::show::reading::Reading;

/// The version of the document.
const VERSION: u32 = 1;
/// Files are written together until they have this many values, or are this many.
const MOST_VALUES: usize = 100_000;
const MOST_FILES: usize = 1000;

pub(crate) async fn run(arguments: Ingest, display: Display) -> Result<u8, CliError> {
    let interrupt = Interrupt::listen().map_err(CliError::file("hear signals in", "."))?;
    let report = take(&arguments, None, &interrupt, &display).await?;
    match display.output {
        Output::Json => print_result_json(&report),
        Output::Text => print_text(&render(&report)),
    }
    if report.is_interrupted {
        errln!("interrupted: what is counted above is kept; the same command takes the rest");
        return Ok(INTERRUPTED);
    }
    Ok(match report.refused.is_empty() {
        true => FOUND,
        false => WRONG_INPUT,
    })
}

/// Takes files, and new commits of the repository. A watch, which has seen some of them, takes
/// those that are new or changed.
pub(crate) async fn take(
    arguments: &Ingest,
    seen: Option<&mut SeenFiles>,
    interrupt: &Interrupt,
    display: &Display,
) -> Result<IngestReport, CliError> {
    let repository = repository(arguments.repository.as_deref()).await?;
    let reader = reader(arguments, repository.as_ref()).await?;
    let root = repository.as_ref().map(|it| it.path().to_owned());
    let main = match (&arguments.main, &repository) {
        (Some(main), _) => main.clone(),
        (None, Some(repository)) => {
            let repository = repository.clone();
            let branch = git(move || repository.main_branch()).await?;
            branch.unwrap_or_else(|| "HEAD".to_owned())
        }
        (None, None) => String::new(),
    };
    let mut files = Vec::new();
    for path in &arguments.paths {
        let found = inputs(path, &reader.format, root.as_deref());
        files.extend(
            found.map_err(|error| {
                CliError::Input(format!("can't read {}: {error}", path.display()))
            })?,
        );
    }
    let is_empty = files.is_empty() && !arguments.paths.is_empty();
    if is_empty && seen.is_none() {
        return Err(CliError::Input(
            "the folders have no files; name those that the benchmark wrote".into(),
        ));
    }
    if repository.is_none() && arguments.paths.is_empty() {
        return Err(CliError::Input(
            "there is nothing to do: name files of results, or a repository with --repo".into(),
        ));
    }
    let fresh = seen.as_ref().map(|seen| seen.fresh(&mut files));
    let history = open_traces(display)
        .await?
        .history(&arguments.dataset.dataset);
    let work = Work {
        history: &history,
        repository: repository.as_ref(),
        main: &main,
        branches: &arguments.branch,
        interrupt,
        display,
    };
    let report = work.take(files, reader).await?;
    if let (Some(seen), Some(fresh), false) = (seen, fresh, report.is_interrupted) {
        seen.add(fresh);
    }
    Ok(report)
}

/// The repository that was named, or else the one here, if any.
pub(crate) async fn repository(named: Option<&Path>) -> Result<Option<Repository>, CliError> {
    let is_named = named.is_some();
    let path = named.unwrap_or(Path::new(".")).to_owned();
    match git(move || Repository::discover(&path)).await {
        Err(CliError::Repository(_)) if !is_named => Ok(None),
        found => found.map(Some),
    }
}

/// Checks the options for all files.
async fn reader(arguments: &Ingest, repository: Option<&Repository>) -> Result<Reader, CliError> {
    let commit = match (&arguments.commit, repository) {
        (None, _) => None,
        (Some(name), _) if name.starts_with("CP:") => {
            let name = CommitName::read(name);
            Some(name.map_err(|error| CliError::Input(error.to_string()))?)
        }
        (Some(name), Some(repository)) => {
            let (repository, name) = (repository.clone(), name.clone());
            let commit = git(move || repository.resolve_revision(&name)).await?;
            Some(CommitName::Hash(commit.git_hash))
        }
        (Some(_), None) => {
            return Err(CliError::Input(
                "--commit needs the repository: name it with --repo, or give the commit's number, as in CP:1234".into(),
            ));
        }
    };
    if arguments.format == FileFormat::Charts(Format::Time) {
        return Err(CliError::Input(
            "the format time is what the system measures of a run, and no file has it; name the format of the files".into(),
        ));
    }
    match (&arguments.format, arguments.talos_values) {
        // In a folder, files of other formats may stand beside logs.
        (FileFormat::Charts(Format::Auto), _) | (_, None) => {}
        (FileFormat::Charts(format), values) => {
            with_talos_values(format.clone(), values).map_err(CliError::Input)?;
        }
        (FileFormat::Skia, Some(values)) => {
            return Err(CliError::Input(format!(
                "--talos-values {values} is for logs of Mozilla's, and not for --format skia"
            )));
        }
    }
    let mut key = BTreeMap::new();
    for (name, value) in arguments.key.iter().flatten() {
        if key.insert(name.clone(), value.clone()).is_some() {
            return Err(CliError::Input(format!(
                "--key has `{name}` twice; give each key one value"
            )));
        }
    }
    // A fault of the keys is no fault of each file.
    let none = BTreeMap::new();
    let any = CommitName::Number(pinpoint_traces::CommitNumber(0));
    points_of_charts(Source::new("", 0), any, &key, &none, arguments.aggregate)
        .map_err(|error| CliError::Input(format!("--key: {error}")))?;
    Ok(Reader {
        format: arguments.format.clone(),
        commit,
        key,
        talos_values: arguments.talos_values.unwrap_or(TalosValues::Filtered),
        // The clocks of two machines differ a little.
        latest: now().div_euclid(1000) + 24 * 60 * 60,
        aggregate: arguments.aggregate,
    })
}

/// An ingest under way.
struct Work<'a> {
    history: &'a History,
    repository: Option<&'a Repository>,
    main: &'a str,
    branches: &'a [String],
    interrupt: &'a Interrupt,
    display: &'a Display,
}

impl Work<'_> {
    async fn take(&self, files: Vec<Input>, reader: Reader) -> Result<IngestReport, CliError> {
        let mut report = IngestReport {
            version: VERSION,
            dataset: self.history.dataset().to_string(),
            line: self.repository.map(|_| self.main.to_owned()),
            ..IngestReport::default()
        };
        let mut is_numbered = false;
        if files.is_empty() {
            self.number(&mut is_numbered, &mut report).await?;
        }
        let mut rest = files.into_iter().peekable();
        let progress = Reading::begin("results", rest.len(), self.display);
        while rest.peek().is_some() {
            let mut batch = Vec::new();
            let mut values = 0;
            while values < MOST_VALUES
                && batch.len() < MOST_FILES
                && let Some(input) = rest.next()
            {
                if self.interrupt.is_heard() {
                    break;
                }
                let reader = reader.clone();
                let name = input.name.clone();
                let read = tokio::task::spawn_blocking(move || reader.read(&input)).await;
                progress.advance(1);
                match read.map_err(|_| CliError::Interrupted)? {
                    Ok(read) => {
                        values += read.file.points.len();
                        report.warn(&name, read.warnings);
                        batch.push(read.file);
                    }
                    Err(error) => report.refused.push(Refused {
                        path: name,
                        error: error.to_string(),
                    }),
                }
            }
            if self.interrupt.is_heard() {
                report.is_interrupted = true;
                break;
            }
            if !batch.is_empty() {
                self.number(&mut is_numbered, &mut report).await?;
                self.write(&batch, &mut report).await?;
            }
        }
        drop(progress);
        if report.files.read() > 0 || is_numbered {
            let waiting = self.history.waiting().await?.into_iter();
            report.waiting = waiting
                .map(|(path, commit)| WaitingFile { path, commit })
                .collect();
            if self.repository.is_none() && report.files.waiting > 0 {
                let missing =
                    "there is no repository here to number commits of: name it with --repo";
                report.warnings.push(missing.into());
            }
        }
        Ok(report)
    }

    /// Adds the commits that the history lacks, once.
    async fn number(
        &self,
        is_numbered: &mut bool,
        report: &mut IngestReport,
    ) -> Result<(), CliError> {
        if let Some(repository) = self.repository
            && !*is_numbered
        {
            let Added { commits, values } = line::add(
                repository,
                self.main,
                self.history,
                self.interrupt,
                self.display,
            )
            .await?;
            report.commits = commits;
            report.values += values;
            *is_numbered = true;
        }
        Ok(())
    }

    async fn write(&self, files: &[ResultFile], report: &mut IngestReport) -> Result<(), CliError> {
        let Ingested {
            taken,
            tries,
            waiting,
            known,
            other_branches,
            values,
            ..
        } = self.history.ingest(files, self.branches).await?;
        let counts = &mut report.files;
        counts.taken += taken;
        counts.tries += tries;
        counts.waiting += waiting;
        counts.known += known;
        counts.other_branches += other_branches;
        report.values += values;
        Ok(())
    }
}
