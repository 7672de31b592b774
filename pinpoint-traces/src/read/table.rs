//! Tables of series: a column for each series, a row for each commit.

use std::collections::BTreeMap;

/// Series that a table holds, on the same rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesTable {
    /// The names of the rows: the cells of the column of labels, or `None` without one.
    pub labels: Option<Vec<String>>,
    /// The name of the column of labels.
    pub label_column: Option<String>,
    /// The series, in the order of their columns.
    pub series: Vec<TableSeries>,
    /// Columns that hold a text, and are neither labels nor a series.
    pub unread_columns: Vec<String>,
}

/// One series of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSeries {
    /// The name of its column.
    pub name: String,
    /// Its values, a row each; `None` where it has no value.
    pub values: Vec<Option<f64>>,
}

/// A text that is no table of series.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The text is not CSV.
    #[error("this is no table: {0}")]
    Csv(#[from] csv::Error),
    /// The table has no row below its header.
    #[error("the table has no rows of values")]
    Empty,
    /// No column holds numbers.
    #[error("no column of the table holds numbers; its columns are {}", columns.join(", "))]
    NoSeries {
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// Two columns have one name.
    #[error("columns {first} and {second} of the table are both called `{name}`")]
    SameName {
        /// The name.
        name: String,
        /// The first column, from 1.
        first: usize,
        /// The second column, from 1.
        second: usize,
    },
    /// A column of numbers holds something else.
    #[error("line {line}: `{cell}` in column `{column}` is no number")]
    NotANumber {
        /// The line, from 1.
        line: u64,
        /// The name of the column.
        column: String,
        /// The cell.
        cell: String,
    },
    /// No column has the name that was given for labels.
    #[error("the table has no column `{name}`; its columns are {}", columns.join(", "))]
    UnknownColumn {
        /// The name.
        name: String,
        /// The names of the columns.
        columns: Vec<String>,
    },
}

/// Names of columns that hold labels, in lower case, though their cells may be numbers.
const LABELS: [&str; 14] = [
    "commit",
    "commits",
    "revision",
    "rev",
    "hash",
    "sha",
    "git_hash",
    "version",
    "build",
    "date",
    "time",
    "timestamp",
    "index",
    "x",
];

/// Reads a table with a header. The separator is the first of tab, semicolon and comma that the
/// header holds.
///
/// A cell that is empty, or `NaN`, `NA`, `null`, `-` in any case, has no value. Labels are the
/// column called `labels`, else the first column if its name is usual for one (`commit`, `date`,
/// …), or it is unnamed, or it holds a text that is no number. A further column of texts is not
/// read. Costs O(cells).
///
/// # Errors
///
/// [`TableError`], with the line and the column.
pub fn read_table(text: &str, labels: Option<&str>) -> Result<SeriesTable, TableError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let header = text.lines().next().unwrap_or_default();
    let separator = [b'\t', b';', b','];
    let separator = separator
        .into_iter()
        .find(|it| header.contains(char::from(*it)));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let columns: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    check_names(&columns)?;
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for record in reader.records() {
        let record = record?;
        lines.push(record.position().map_or(0, csv::Position::line));
        rows.push(record);
    }
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    let cells = |column: usize| {
        rows.iter()
            .map(move |row| row.get(column).unwrap_or_default())
    };
    let label_column = match labels {
        Some(name) => {
            let found = columns.iter().position(|column| column == name);
            Some(found.ok_or_else(|| TableError::UnknownColumn {
                name: name.to_owned(),
                columns: columns.clone(),
            })?)
        }
        None => {
            let first = columns
                .first()
                .map(|it| it.to_lowercase())
                .unwrap_or_default();
            let is_usual = columns.len() > 1 && (first.is_empty() || LABELS.contains(&&*first));
            (is_usual || kind(cells(0)) == Kind::Text).then_some(0)
        }
    };
    let mut table = SeriesTable {
        labels: label_column.map(|column| cells(column).map(str::to_owned).collect()),
        label_column: label_column.map(|column| columns[column].clone()),
        series: Vec::new(),
        unread_columns: Vec::new(),
    };
    for (column, name) in columns.iter().enumerate() {
        if Some(column) == label_column {
            continue;
        }
        match kind(cells(column)) {
            Kind::Text => table.unread_columns.push(name.clone()),
            Kind::Empty => {}
            Kind::Numbers => {
                let values = cells(column).zip(&lines).map(|(cell, line)| {
                    value(cell).map_err(|NotANumber| TableError::NotANumber {
                        line: *line,
                        column: name.clone(),
                        cell: cell.to_owned(),
                    })
                });
                table.series.push(TableSeries {
                    name: name.clone(),
                    values: values.collect::<Result<_, _>>()?,
                });
            }
        }
    }
    if table.series.is_empty() {
        return Err(TableError::NoSeries { columns });
    }
    Ok(table)
}

fn check_names(columns: &[String]) -> Result<(), TableError> {
    let mut places = BTreeMap::new();
    for (place, name) in columns.iter().enumerate() {
        if let Some(first) = places.insert(name, place) {
            return Err(TableError::SameName {
                name: name.clone(),
                first: first + 1,
                second: place + 1,
            });
        }
    }
    Ok(())
}

#[derive(PartialEq)]
enum Kind {
    Empty,
    /// Most of what it holds are numbers.
    Numbers,
    Text,
}

fn kind<'a>(cells: impl Iterator<Item = &'a str>) -> Kind {
    let (mut numbers, mut texts) = (0_usize, 0_usize);
    for cell in cells {
        match value(cell) {
            Ok(Some(_)) => numbers += 1,
            Ok(None) => {}
            Err(NotANumber) => texts += 1,
        }
    }
    match (numbers, texts) {
        (0, 0) => Kind::Empty,
        (numbers, texts) if numbers > texts => Kind::Numbers,
        _ => Kind::Text,
    }
}

struct NotANumber;

fn value(cell: &str) -> Result<Option<f64>, NotANumber> {
    const MISSING: [&str; 6] = ["", "nan", "na", "n/a", "null", "-"];
    if MISSING.contains(&&*cell.to_lowercase()) {
        return Ok(None);
    }
    // Rust reads `inf`, too.
    let number = cell.parse().ok().filter(|number: &f64| number.is_finite());
    number.map(Some).ok_or(NotANumber)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_series_and_the_first_may_be_labels() {
        let table = read_table("commit,a (ms),b\nabc,1.5,2\ndef,,3e2\nabd,NaN,-\n", None).unwrap();
        let labels = ["abc", "def", "abd"].map(str::to_owned).to_vec();
        assert_eq!(table.labels, Some(labels));
        assert_eq!(table.series[0].name, "a (ms)");
        assert_eq!(table.series[0].values, [Some(1.5), None, None]);
        assert_eq!(table.series[1].values, [Some(2.0), Some(300.0), None]);
    }

    #[test]
    fn numbers_are_labels_by_their_name_alone() {
        let table = read_table("build;x;y\n1;2;3\n", None).unwrap();
        assert_eq!(table.label_column.as_deref(), Some("build"));
        let table = read_table("a\tb\n1\t2\n", None).unwrap();
        assert_eq!((table.labels, table.series.len()), (None, 2));
        let table = read_table("a,b\n1,2\n", Some("b")).unwrap();
        assert_eq!(table.labels, Some(vec!["2".to_owned()]));
    }

    #[test]
    fn one_column_without_labels_is_a_series() {
        let table = read_table("time\n1\n2\n", None).unwrap();
        assert_eq!((table.labels, table.series.len()), (None, 1));
    }

    #[test]
    fn texts_are_no_series_and_are_named() {
        let table = read_table("commit,author,a\nx,Bo,1\ny,Al,2\n", None).unwrap();
        assert_eq!(table.unread_columns, ["author"]);
    }

    #[test]
    fn errors_name_the_place() {
        let message = |text: &str| read_table(text, None).unwrap_err().to_string();
        assert_eq!(
            message("commit,a\nx,1\ny,2\nz,fast\n"),
            "line 4: `fast` in column `a` is no number"
        );
        assert!(message("a,b,a\n1,2,3\n").contains("columns 1 and 3"));
        assert!(message("a,b\n").contains("no rows"));
        assert!(message("").contains("no rows"));
        assert!(message("a,b\nx,y\n").contains("no column of the table holds numbers"));
        assert!(message("a,b\n1\n").contains("this is no table"));
        assert!(message("a,b\n1,inf\n2,3\n4,5\n").contains("`inf`"));
        let unknown = read_table("a,b\n1,2\n", Some("c")).unwrap_err();
        assert!(unknown.to_string().contains("no column `c`"));
    }
}
