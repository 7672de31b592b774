//! The conditions of a filter as SQL.

use super::database::{Dialect, Value};
use super::job::first_number;
use super::order::name_key;
use super::text::{self, Names, SearchWord};
use super::{JobFilter, NameParts};

/// The jobs that the index of words finds.
pub(super) const WORDS_AND_JOBS: &str =
    "jobs_words CROSS JOIN jobs ON jobs.number = jobs_words.rowid";

/// The part of a query that finds jobs.
pub(super) struct Query {
    pub(super) from: String,
    /// The column that gives the place of a job in the list.
    pub(super) key: &'static str,
    pub(super) conditions: Vec<String>,
    pub(super) values: Vec<Value>,
}

impl Query {
    pub(super) fn new(dialect: Dialect, filter: &JobFilter) -> Self {
        Self::along(dialect, filter, None)
    }

    /// A query along this index, if any, overriding SQLite's choice; PostgreSQL knows how often
    /// values occur.
    pub(super) fn along(dialect: Dialect, filter: &JobFilter, index: Option<&str>) -> Self {
        let mut query = Self {
            from: match (dialect, index) {
                (Dialect::Sqlite, Some(index)) => format!("jobs INDEXED BY {index}"),
                _ => "jobs".into(),
            },
            key: "jobs.number",
            // The list is never empty.
            conditions: vec!["1 = 1".into()],
            values: Vec::new(),
        };
        let exact = [
            ("name", filter.name.as_deref()),
            ("benchmark", filter.benchmark.as_deref()),
            ("username", filter.user.as_deref()),
            ("state", filter.state.map(pinpoint_core::JobState::as_str)),
        ];
        for (column, value) in exact {
            if let Some(value) = value {
                query.add(&format!("{column} ="), value);
            }
        }
        // For names, which may be long, PostgreSQL only has an index of the first letters.
        let name = filter.name.as_deref().filter(|name| !name.is_empty());
        if let (Dialect::Postgres, Some(name)) = (dialect, name) {
            query.add("name_key =", name_key(name));
        }
        if filter.by_workers {
            query.conditions.push("by_workers = 1".into());
        }
        query.add_any("bot", &filter.bots);
        query.add_any("kind", &filter.kinds);
        let NameParts {
            name,
            benchmark,
            bot,
            user,
        } = &filter.parts;
        for (text, part) in [
            ("CASE WHEN name = '' THEN title ELSE name END", name),
            ("benchmark", benchmark),
            ("bot", bot),
            ("username", user),
        ] {
            if !part.is_empty() {
                query.add_part(dialect, text, part);
            }
        }
        let wanted = text::wanted(filter.text.as_deref().unwrap_or_default());
        if !wanted.is_empty() {
            match (dialect, index) {
                (Dialect::Sqlite, Some(_)) => query.add_words_of_each(dialect, &wanted),
                _ => query.add_words(dialect, wanted, filter),
            }
        }
        if let Some(since) = filter.since {
            query.above(first_number(since).saturating_sub(1));
        }
        if let Some(until) = filter.until {
            query.below(first_number(until));
        }
        query
    }

    /// Adds a condition, which ends with the place of its value.
    fn add(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        self.conditions
            .push(format!("{condition} ${}", self.values.len()));
    }

    /// Adds that a column has one of these values, or any value if the list is empty.
    fn add_any(&mut self, column: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let first = self.values.len() + 1;
        self.values
            .extend(values.iter().map(|value| Value::from(&**value)));
        let places: Vec<_> = (first..=self.values.len())
            .map(|place| format!("${place}"))
            .collect();
        let places = places.join(", ");
        self.conditions.push(format!("{column} IN ({places})"));
    }

    /// Adds that a text has this part.
    fn add_part(&mut self, dialect: Dialect, text: &str, part: &str) {
        self.values.push(part.into());
        self.conditions.push(format!(
            "{}({text}, ${}) > 0",
            dialect.place_of_part(),
            self.values.len()
        ));
    }

    /// Adds that only this job matches.
    pub(super) fn only(&mut self, id: &str) {
        self.add("jobs.id =", id);
    }

    pub(super) fn above(&mut self, number: i64) {
        self.add(&format!("{} >", self.key), number);
    }

    pub(super) fn below(&mut self, number: i64) {
        self.add(&format!("{} <", self.key), number);
    }

    /// The index of words is asked about each job.
    fn add_words_of_each(&mut self, dialect: Dialect, wanted: &[SearchWord]) {
        self.add(
            "EXISTS (SELECT 1 FROM jobs_words WHERE rowid = jobs.number AND jobs_words MATCH",
            dialect.text_query(wanted),
        );
        if let Some(last) = self.conditions.last_mut() {
            last.push(')');
        }
    }

    fn add_words(&mut self, dialect: Dialect, mut wanted: Vec<SearchWord>, filter: &JobFilter) {
        match dialect {
            Dialect::Sqlite => {
                // The index of words is walked, and the jobs are checked one by one:
                // other conditions narrow the walk, where they have words.
                let names = Names {
                    name: filter.name.as_deref().unwrap_or_default(),
                    benchmark: filter.benchmark.as_deref().unwrap_or_default(),
                    bot: match &filter.bots[..] {
                        [only] => only,
                        _ => "",
                    },
                    user: filter.user.as_deref().unwrap_or_default(),
                };
                wanted.extend(names.tags().map(|word| SearchWord {
                    word,
                    prefix: false,
                }));
                self.from = WORDS_AND_JOBS.to_owned();
                self.key = "jobs_words.rowid";
                self.add("jobs_words MATCH", dialect.text_query(&wanted));
            }
            Dialect::Postgres => {
                self.add("words_vector @@ CAST(", dialect.text_query(&wanted));
                if let Some(last) = self.conditions.last_mut() {
                    last.push_str(" AS tsquery)");
                }
            }
        }
    }
}
