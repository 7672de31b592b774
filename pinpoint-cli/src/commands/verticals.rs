//! `pinpoint verticals`: ratios of two values of a key, two commits, or a try and the history.

use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::traces::{Select, TracePoint, ValueAt};
use pinpoint_core::Direction;
use pinpoint_report::heat_map::{HeatMap, HeatMapCell, HeatMapRow, heat_map};
use pinpoint_traces::{
    Query, TraceId, UnknownName, Verticals as Table, nearest, verticals, verticals_of_two,
    verticals_to_csv,
};
use serde_json::json;

use super::traces::open_dataset::OpenDataset;
use super::traces::selection::wrong;
use super::traces::{warn, warn_of_unknown};
use crate::arguments::{Display, OutputFormat, Verticals};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::report::{destination, write_text};
use crate::show::output::{errln, print_bytes, print_json, print_text};
use crate::show::vertical_table::render;

pub(crate) async fn run(arguments: Verticals, display: &Display) -> Result<u8, CliError> {
    let (sides, query) = words(&arguments)?;
    let report = arguments.report.as_deref().map(destination).transpose()?;
    let opened = OpenDataset::open(display, &arguments.dataset.dataset).await?;
    let (table, title) = table(&opened, &arguments, sides.as_ref(), &query).await?;
    if table.rows.is_empty() {
        warn_of_unknown(&opened, &query).await?;
    }
    match arguments.output {
        OutputFormat::Json => {
            let mut document = json!(table);
            document["version"] = json!(1);
            document["title"] = json!(title);
            print_json(document);
        }
        OutputFormat::Csv => print_bytes(verticals_to_csv(&table).as_bytes()),
        _ => print_text(&render(&table, &title)),
    }
    if let Some(file) = report {
        write_text(&heat_map(&page(&table, title, &opened, &query)), &file)?;
        errln!("report: {}", file.display());
    }
    Ok(FOUND)
}

/// A key and two of its values.
type Sides = [String; 3];

/// The key and its values, unless two times are compared, and the query.
fn words(arguments: &Verticals) -> Result<(Option<Sides>, Query), CliError> {
    let of_two_times = arguments.between.is_some() || arguments.tried.is_some();
    let (sides, query) = match (&arguments.words[..], of_two_times) {
        ([], true) => (None, ""),
        ([query], true) => (None, &**query),
        (_, true) => {
            return Err(CliError::Input(
                "with --between or --try the traces are compared with themselves: name at most a query, no key and values".into(),
            ));
        }
        ([key, a, b], false) => (Some([key, a, b]), ""),
        ([key, a, b, query], false) => (Some([key, a, b]), &**query),
        (_, false) => {
            return Err(CliError::Input(
                "name a key and two of its values, as in `pinpoint verticals compiler gcc clang`, or two times with --between or --try".into(),
            ));
        }
    };
    let query = query.parse().map_err(wrong)?;
    Ok((sides.map(|it| it.map(String::clone)), query))
}

/// The table, and its title.
async fn table(
    opened: &OpenDataset,
    arguments: &Verticals,
    sides: Option<&Sides>,
    query: &Query,
) -> Result<(Table, String), CliError> {
    let (row, limit) = (&*arguments.row, arguments.limit);
    let values = async |at| {
        opened
            .history
            .values_at(Select::Query(query), at, limit)
            .await
    };
    if let Some(range) = &arguments.between {
        let [Some(a), Some(b)] = [&range.from, &range.to] else {
            return Err(CliError::Input("--between needs two commits, A..B".into()));
        };
        if a == b {
            return Err(CliError::Input("--between needs two commits, A..B".into()));
        }
        let (a, b) = (opened.commit(a).await?, opened.commit(b).await?);
        let before = values(ValueAt::At(a)).await?;
        let after = values(ValueAt::At(b)).await?;
        let table = verticals_of_two(pairs(&before), pairs(&after), row).map_err(wrong)?;
        return Ok((table, format!("commit {a} (A) over commit {b} (B)")));
    }
    if let Some(tried) = &arguments.tried {
        let tried_values = opened.history.try_values(tried, query).await?;
        let ids: Vec<TraceId> = tried_values.keys().cloned().collect();
        let select = Select::Ids(&ids);
        let latest = opened
            .history
            .values_at(select, ValueAt::Latest, limit)
            .await?;
        let a = tried_values.iter().map(|(id, value)| (id, *value));
        let table = verticals_of_two(a, pairs(&latest), row).map_err(wrong)?;
        let title = format!(
            "try {}/{} (A) over the latest values (B)",
            tried.issue, tried.patchset
        );
        return Ok((table, title));
    }
    let Some([key, a, b]) = sides else {
        return Err(CliError::Input("name a key and two of its values".into()));
    };
    let (at, place) = match &arguments.at {
        Some(name) => {
            let commit = opened.commit(name).await?;
            (
                ValueAt::Nearest(commit),
                format!(", nearest to commit {commit}"),
            )
        }
        None => (ValueAt::Latest, String::new()),
    };
    let values = values(at).await?;
    let table = verticals(pairs(&values), row, key, a, b).map_err(wrong)?;
    if table.rows.is_empty() {
        let known = opened.history.survey(query, None).await?.params;
        for value in [a, b] {
            if !known.values(key).is_some_and(|it| it.contains(value)) {
                let near = known.values(key).into_iter().flatten().map(String::as_str);
                let unknown = UnknownName::Value {
                    key: key.clone(),
                    value: value.clone(),
                    nearest: nearest(value, near).map(str::to_owned),
                };
                warn(&[unknown.to_string()]);
            }
        }
    }
    Ok((table, format!("{key} {a} (A) over {b} (B){place}")))
}

fn pairs(points: &[TracePoint]) -> impl Iterator<Item = (&TraceId, f64)> {
    points.iter().map(|it| (&it.trace, it.value))
}

fn page(table: &Table, title: String, opened: &OpenDataset, query: &Query) -> HeatMap {
    let query = query.to_string();
    let traces = if query.is_empty() {
        "all traces".to_owned()
    } else {
        query
    };
    let made = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let rows = table.rows.iter().map(|row| HeatMapRow {
        name: row.name.clone(),
        mean: row.mean,
        cells: { row.cells.iter() }
            .map(|cell| {
                cell.as_ref().map(|cell| HeatMapCell {
                    ratio: cell.ratio,
                    about: match cell.a == cell.b {
                        true => cell.a.to_string(),
                        false => format!("{} over {}", cell.a, cell.b),
                    },
                })
            })
            .collect(),
    });
    HeatMap {
        title,
        facts: vec![
            format!("Dataset {}, {traces}.", opened.history.dataset()),
            "Cells are ratios A/B; the mean is their geometric mean.".into(),
            format!(
                "Traces left out, without a counterpart or a positive value: {}.",
                table.left_out
            ),
        ],
        less_is_better: match table.direction {
            Direction::Down => Some(true),
            Direction::Up => Some(false),
            Direction::Unknown => None,
        },
        columns: table.columns.clone(),
        rows: rows.collect(),
        made: i64::try_from(made.as_millis()).unwrap_or(i64::MAX),
    }
}
