//! The parameters of the list, from its address.

use http::Uri;
use tonic::Status;

use super::super::dates::days;
use super::columns::Column;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::{JobFilter, Kind, ListJobsRequest, State};
use crate::api::query::Query;

/// The sizes of a page; the second is the default.
pub(super) const SIZES: [u32; 4] = [10, 25, 50, 100];

pub(in crate::ui) const KINDS: [(&str, Kind); 3] = [
    ("bisection", Kind::Bisection),
    ("try", Kind::Pairwise),
    ("culprit", Kind::CulpritFinder),
];

pub(super) const STATES: [(&str, State); 5] = [
    ("pending", State::Pending),
    ("running", State::Running),
    ("completed", State::Completed),
    ("failed", State::Failed),
    ("canceled", State::Canceled),
];

/// The jobs and their columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct JobListQuery {
    pub(super) text: String,
    pub(super) benchmark: String,
    pub(super) bot: String,
    pub(super) user: String,
    pub(super) kind: String,
    pub(super) state: String,
    pub(super) from: String,
    pub(super) to: String,
    /// Absent for newest first.
    pub(super) sort: Option<Sort>,
    pub(super) size: Option<u32>,
    pub(super) page: String,
    pub(super) columns: Option<Vec<Column>>,
}

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sort {
    pub(super) by: Column,
    pub(super) ascending: bool,
}

impl Sort {
    const NEWEST: Self = Self {
        by: Column::Created,
        ascending: false,
    };

    fn parse(text: &str) -> Option<Self> {
        let (key, ascending) = match text.strip_prefix('-') {
            Some(key) => (key, false),
            None => (text, true),
        };
        let by = Column::from_key(key)?;
        Some(Self { by, ascending })
    }

    fn text(self) -> String {
        let sign = if self.ascending { "" } else { "-" };
        format!("{sign}{}", self.by.key())
    }
}

impl JobListQuery {
    pub(super) fn from_uri(uri: &Uri) -> Result<Self, Status> {
        Self::read(&mut Query::from_uri(uri)?)
    }

    pub(super) fn read(query: &mut Query) -> Result<Self, Status> {
        let mut text = |name| query.take(name).unwrap_or_default();
        let mut shown = Self {
            text: text("text"),
            benchmark: text("benchmark"),
            bot: text("bot"),
            user: text("user"),
            kind: text("kind"),
            state: text("state"),
            from: text("from"),
            to: text("to"),
            page: text("page"),
            ..Self::default()
        };
        if let Some(sort) = query.take("sort") {
            let problem = || errors::field("sort", "the list can't be sorted by that");
            shown.sort = Some(Sort::parse(&sort).ok_or_else(problem)?);
        }
        if let Some(size) = query.take("size") {
            let size = size.parse().ok().filter(|size| SIZES.contains(size));
            let problem = || errors::field("size", "a page has 10, 25, 50 or 100 jobs");
            shown.size = Some(size.ok_or_else(problem)?);
        }
        if let Some(columns) = query.take("columns") {
            let mut known = Vec::new();
            for name in columns.split(',') {
                let problem = || errors::field("columns", &format!("there is no column {name:?}"));
                let column = Column::from_key(name).ok_or_else(problem)?;
                if !known.contains(&column) {
                    known.push(column);
                }
            }
            shown.columns = Some(known);
        }
        Ok(shown)
    }

    pub(super) fn columns(&self) -> &[Column] {
        self.columns.as_deref().unwrap_or(&Column::ALL)
    }

    pub(super) fn size(&self) -> u32 {
        self.size.unwrap_or(SIZES[1])
    }

    pub(super) fn sort(&self) -> Sort {
        self.sort.unwrap_or(Sort::NEWEST)
    }

    /// The fields that show it, in one order. `size` is always there, so that an address without
    /// fields means the default list.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("text", &self.text),
            ("benchmark", &self.benchmark),
            ("bot", &self.bot),
            ("user", &self.user),
            ("kind", &self.kind),
            ("state", &self.state),
            ("from", &self.from),
            ("to", &self.to),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(columns) = self.column_keys() {
            query.append_pair("columns", &columns);
        }
        if let Some(sort) = self.sort_key() {
            query.append_pair("sort", &sort);
        }
        query.append_pair("size", &self.size().to_string());
        if !self.page.is_empty() {
            query.append_pair("page", &self.page);
        }
        query.finish()
    }

    /// The address of this list.
    pub(super) fn address(&self) -> String {
        format!("/?{}", self.query())
    }

    /// The columns, if not the default.
    pub(super) fn column_keys(&self) -> Option<String> {
        let columns = self.columns.as_ref()?;
        let keys: Vec<_> = columns.iter().map(|it| it.key()).collect();
        Some(keys.join(","))
    }

    /// The order, if not the default.
    pub(super) fn sort_key(&self) -> Option<String> {
        let sort = self.sort.filter(|sort| *sort != Sort::NEWEST)?;
        Some(sort.text())
    }

    /// Its first page, in another order or with another filter.
    pub(super) fn first_page(&self) -> Self {
        Self {
            page: String::new(),
            ..self.clone()
        }
    }

    pub(super) fn request(&self) -> Result<ListJobsRequest, Status> {
        let sort = self.sort();
        Ok(ListJobsRequest {
            filter: Some(self.filter()?),
            page_size: Some(self.size()),
            page_token: self.page.clone(),
            order: sort.by.order() as i32,
            ascending: sort.ascending,
        })
    }

    pub(super) fn filter(&self) -> Result<JobFilter, Status> {
        let (since, until) = days(&self.from, &self.to)?;
        Ok(JobFilter {
            benchmark: self.benchmark.clone(),
            bots: match &*self.bot {
                "" => Vec::new(),
                bot => vec![bot.to_owned()],
            },
            user: self.user.clone(),
            kind: chosen("kind", &self.kind, &KINDS)?.unwrap_or_default() as i32,
            state: chosen("state", &self.state, &STATES)?.unwrap_or_default() as i32,
            since,
            until,
            text: self.text.clone(),
            ..JobFilter::default()
        })
    }
}

fn chosen<T: Copy>(name: &str, text: &str, all: &[(&str, T)]) -> Result<Option<T>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let found = all.iter().find(|(key, _)| *key == text);
    let names: Vec<_> = all.iter().map(|(key, _)| *key).collect();
    let problem = || errors::field(name, &format!("choose one of {}", names.join(", ")));
    Ok(Some(found.ok_or_else(problem)?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_what_it_was_made_of() {
        let of = |query: &str| JobListQuery::from_uri(&format!("/?{query}").parse().unwrap());
        for query in [
            "size=25",
            "text=a+b&benchmark=c&bot=d&user=e&kind=try&state=failed&from=2020-01-01&to=2020-01-02&columns=runs%2Cname&sort=-runs&size=50&page=token",
        ] {
            assert_eq!(of(query).unwrap().query(), query);
        }
        // Defaults are left out.
        assert_eq!(of("sort=-created").unwrap().query(), "size=25");
        for bad in ["sort=other", "sort=--name", "columns=", "size=0", "size=x"] {
            // A field without a value is ignored.
            assert_eq!(of(bad).is_err(), bad != "columns=", "{bad}");
        }
    }
}
