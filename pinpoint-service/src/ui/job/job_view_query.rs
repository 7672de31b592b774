//! The parameters of the page of a job, from its address.

use http::Uri;
use maud::{Markup, html};
use pinpoint_report::clean;
use tonic::Status;

use crate::api::grpc::errors;
use crate::api::query::Query;

/// A column of the table of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ui) enum Column {
    Metric,
    Base,
    Experiment,
    Change,
    Interval,
    P,
    AdjustedP,
    Verdict,
}

impl Column {
    pub(in crate::ui) const ALL: [Self; 8] = [
        Self::Metric,
        Self::Base,
        Self::Experiment,
        Self::Change,
        Self::Interval,
        Self::P,
        Self::AdjustedP,
        Self::Verdict,
    ];

    pub(in crate::ui) fn name(self) -> &'static str {
        match self {
            Self::Metric => "Metric",
            Self::Base => "Median of base",
            Self::Experiment => "Median of experiment",
            Self::Change => "Change in pairs",
            Self::Interval => "95 % interval",
            Self::P => "p",
            Self::AdjustedP => "Adjusted p",
            Self::Verdict => "Verdict",
        }
    }

    /// The name in an address.
    fn key(self) -> &'static str {
        match self {
            Self::Metric => "metric",
            Self::Base => "base",
            Self::Experiment => "experiment",
            Self::Change => "change",
            Self::Interval => "interval",
            Self::P => "p",
            Self::AdjustedP => "adjusted",
            Self::Verdict => "verdict",
        }
    }
}

/// The requested view.
#[derive(Debug, Clone, Default)]
pub(in crate::ui) struct JobViewQuery {
    /// The page itself.
    pub(in crate::ui) path: String,
    /// Another field of the address, as it is.
    pub(in crate::ui) jobs: String,
    /// The first records after which the job is shown.
    pub(in crate::ui) at: Option<usize>,
    /// The run whose details are shown.
    pub(in crate::ui) run: Option<String>,
    /// The metric that squares and pictures are about.
    pub(in crate::ui) chart: Option<String>,
    /// The text to find in names of metrics.
    pub(in crate::ui) find: Option<String>,
    pub(in crate::ui) sort: Option<Column>,
    pub(in crate::ui) is_descending: bool,
    /// The page of the table, from 1.
    pub(in crate::ui) page: usize,
    /// The page of the tables of commits, from 1; absent where they are closed at first.
    pub(in crate::ui) commits: Option<usize>,
    /// The number of the last pair whose squares are shown; absent for the last pair of all.
    pub(in crate::ui) pairs: Option<usize>,
    /// The same of the runs of a search.
    pub(in crate::ui) runs: Option<usize>,
    /// Only the part that changes is requested.
    pub(in crate::ui) is_fragment: bool,
}

impl JobViewQuery {
    pub(in crate::ui) fn from_uri(uri: &Uri) -> Result<Self, Status> {
        let mut query = Query::from_uri(uri)?;
        let mut number = |name: &str| match query.take(name) {
            None => Ok(None),
            Some(text) => {
                let problem = |_| errors::field(name, "enter a whole number");
                text.parse::<usize>().map(Some).map_err(problem)
            }
        };
        let (at, page, commits) = (number("at")?, number("page")?, number("commits")?);
        let (pairs, runs) = (number("pairs")?, number("runs")?);
        let sort = query.take("sort");
        let sort = sort.map(|key| {
            let mut columns = Column::ALL.into_iter();
            let problem = || errors::field("sort", &format!("there is no column {key:?}"));
            columns.find(|it| it.key() == key).ok_or_else(problem)
        });
        Ok(Self {
            path: uri.path().to_owned(),
            jobs: query.take("jobs").unwrap_or_default(),
            at,
            run: query.take("run"),
            chart: query.take("chart"),
            find: query.take("find"),
            sort: sort.transpose()?,
            is_descending: query.take("order").as_deref() == Some("descending"),
            page: page.unwrap_or(1).max(1),
            commits: commits.map(|page| page.max(1)),
            pairs,
            runs,
            is_fragment: query.take("fragment").is_some(),
        })
    }

    /// All differences from the default page, for addresses and for forms.
    pub(in crate::ui) fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = Vec::new();
        let mut add = |name, value: Option<String>| {
            if let Some(value) = value {
                fields.push((name, value));
            }
        };
        add("jobs", Some(self.jobs.clone()).filter(|it| !it.is_empty()));
        add("at", self.at.map(|at| at.to_string()));
        add("chart", self.chart.clone());
        add("run", self.run.clone());
        add("find", self.find.clone());
        add("sort", self.sort.map(|column| column.key().to_owned()));
        let order = (self.sort.is_some() && self.is_descending).then(|| "descending".to_owned());
        add("order", order);
        add("page", (self.page > 1).then(|| self.page.to_string()));
        add("commits", self.commits.map(|page| page.to_string()));
        add("pairs", self.pairs.map(|last| last.to_string()));
        add("runs", self.runs.map(|last| last.to_string()));
        fields
    }

    /// The same as hidden fields of a form. Text with invisible characters is left out: an
    /// attribute can't isolate it from the text around it.
    pub(in crate::ui) fn hidden(&self) -> Markup {
        let mut fields = self.fields();
        fields.retain(|(_, value)| clean(value) == *value);
        html! { @for (name, value) in fields { input type="hidden" name=(name) value=(value); } }
    }

    pub(in crate::ui) fn address(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.fields());
        match query.finish() {
            query if query.is_empty() => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }

    /// The address of the page after so many records; without a number, of the current page.
    pub(in crate::ui) fn moment(&self, at: Option<usize>) -> String {
        let other = Self { at, ..self.clone() };
        other.address()
    }

    /// The address of the table sorted by a column, or in reverse if it is already.
    pub(in crate::ui) fn sorted(&self, column: Column) -> String {
        let other = Self {
            sort: Some(column),
            is_descending: self.sort == Some(column) && !self.is_descending,
            page: 1,
            ..self.clone()
        };
        format!("{}#metrics", other.address())
    }
}
