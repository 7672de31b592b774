//! The source of the values: a table, or the history.

use std::path::{Path, PathBuf};

use pinpoint_traces::Query;

use crate::arguments::Detect;
use crate::error::CliError;

/// The source of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A file, or standard input: `-`.
    Table(PathBuf),
    /// The traces of the history that match.
    History(Query),
}

impl Source {
    /// The source that the arguments name.
    ///
    /// # Errors
    ///
    /// A text that may be a file and a query, or is neither, and options of the other source.
    pub(super) fn of(arguments: &Detect, exists: impl Fn(&Path) -> bool) -> Result<Self, CliError> {
        let source = match (&arguments.query, &arguments.input) {
            (Some(query), _) => Self::History(query.clone()),
            (None, None) => Self::History(Query::default()),
            (None, Some(text)) => named(text, exists)?,
        };
        match &source {
            Self::Table(path) => {
                if let Some(option) = arguments.history.given() {
                    return Err(CliError::Input(format!(
                        "{option} is about the history of values, and {} is a file; leave one of them out",
                        path.display()
                    )));
                }
            }
            Self::History(_) => {
                let of_tables = [
                    (!arguments.series.is_empty(), "--series"),
                    (arguments.labels.is_some(), "--labels"),
                ];
                if let Some((_, option)) = of_tables.iter().find(|(is_given, _)| *is_given) {
                    return Err(CliError::Input(format!(
                        "{option} names a column of a table; name the file, or leave {option} out to read the history of values"
                    )));
                }
            }
        }
        Ok(source)
    }
}

fn named(text: &str, exists: impl Fn(&Path) -> bool) -> Result<Source, CliError> {
    let path = Path::new(text);
    if text == "-" || ["/", "./", "../"].iter().any(|it| text.starts_with(it)) {
        return Ok(Source::Table(path.to_owned()));
    }
    match (exists(path), text.parse::<Query>()) {
        (true, Ok(_)) if text.contains('=') => Err(CliError::Input(format!(
            "{text} is a file, and a query, too: write ./{text} for the file, or --query {text} for the history of values"
        ))),
        (true, _) => Ok(Source::Table(path.to_owned())),
        (false, Ok(query)) => Ok(Source::History(query)),
        (false, Err(error)) => Err(CliError::Input(format!(
            "there is no file {text}, and it is no query ({error}); a query is written as in test=sort"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arguments;
    use super::*;
    use crate::arguments::DetectHistory;

    #[test]
    fn a_text_is_a_file_or_a_query() {
        let exists = |path: &Path| {
            ["history.csv", "a=b"]
                .iter()
                .any(|it| path == Path::new(it))
        };
        let of = |text: &str| {
            let input = Some(text.to_owned());
            let arguments = Detect {
                input,
                ..arguments()
            };
            Source::of(&arguments, exists).map_err(|error| error.to_string())
        };
        let table = |path: &str| Ok(Source::Table(path.into()));
        let history = |query: &str| Ok(Source::History(query.parse().unwrap()));
        for file in ["-", "history.csv", "./a=b", "/x/y=z"] {
            assert_eq!(of(file), table(file));
        }
        assert_eq!(of("os=linux"), history("os=linux"));
        assert_eq!(of(""), history(""));
        let both = of("a=b").unwrap_err();
        assert!(
            both.contains("./a=b") && both.contains("--query a=b"),
            "{both}"
        );
        let neither = of("histroy.csv").unwrap_err();
        assert!(neither.contains("no file histroy.csv"), "{neither}");
        let named = Detect {
            query: Some("a=b".parse().unwrap()),
            input: None,
            ..arguments()
        };
        assert_eq!(Source::of(&named, exists).unwrap(), history("a=b").unwrap());
    }

    #[test]
    fn options_of_the_other_source_are_refused() {
        let exists = |_: &Path| true;
        let of_history = Detect {
            history: DetectHistory {
                last: Some(5),
                ..DetectHistory::default()
            },
            ..arguments()
        };
        let error = Source::of(&of_history, exists).unwrap_err().to_string();
        assert!(error.contains("--last"), "{error}");
        let of_tables = Detect {
            input: None,
            labels: Some("x".into()),
            ..arguments()
        };
        let error = Source::of(&of_tables, exists).unwrap_err().to_string();
        assert!(error.contains("--labels"), "{error}");
    }
}
