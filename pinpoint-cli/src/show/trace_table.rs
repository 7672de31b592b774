//! Values of traces by commit: a row for each trace, a column for each commit.

use std::fmt::Write as _;

use pinpoint_backends::traces::{NumberedAnnotation, NumberedCommit};
use pinpoint_report::quantity::{count, date, digits};
use pinpoint_traces::{AnnotationKind, Frame, TraceId};
use serde_json::{Map, Value, json};

use super::ingested::short;
use super::text::{BOLD, DIM, Text, text};

/// The width that a block of columns fills.
const WIDTH: usize = 100;
/// Labels that are longer stand on a line of their own.
const LONGEST_LABEL: usize = 48;

/// The answer of `pinpoint traces query`.
pub(crate) struct TraceTable {
    pub(crate) version: u32,
    pub(crate) dataset: String,
    pub(crate) frame: Frame,
    /// Those of the columns that are known.
    pub(crate) commits: Vec<NumberedCommit>,
    pub(crate) annotations: Vec<NumberedAnnotation>,
    pub(crate) warnings: Vec<String>,
}

impl TraceTable {
    /// The document that `--output json` prints: values as they are, null where one is missing.
    pub(crate) fn document(&self) -> Value {
        let mut known = self.commits.iter().peekable();
        let commits = self.frame.columns().iter().map(|number| {
            match known.next_if(|it| it.number == number) {
                Some(it) => json!({
                    "number": number, "hash": it.hash, "time": it.time, "author": it.author,
                    "subject": it.subject,
                }),
                None => json!({ "number": number }),
            }
        });
        let commits: Vec<Value> = commits.collect();
        let rows = self.frame.rows();
        let traces: Map<String, Value> = rows
            .map(|(name, row)| (name.to_string(), json!(row)))
            .collect();
        let annotations: Vec<Value> = self.annotations.iter().map(annotation_document).collect();
        json!({
            "version": self.version,
            "dataset": self.dataset,
            "commits": commits,
            "traces": traces,
            "annotations": annotations,
            "warnings": self.warnings,
        })
    }
}

/// An annotation with its number.
pub(crate) fn annotation_document(it: &NumberedAnnotation) -> Value {
    let mut document = json!(it.annotation);
    document["number"] = json!(it.number);
    document
}

/// A value for people.
pub(crate) fn number(value: f64) -> String {
    match value.is_nan() {
        true => "-".into(),
        false => digits(value),
    }
}

pub(crate) fn render(table: &TraceTable) -> Text {
    let frame = &table.frame;
    if frame.is_empty() {
        return text!("no trace matches\n");
    }
    let ids: Option<Vec<&TraceId>> = frame.names().iter().map(|it| it.stored()).collect();
    let common = ids.as_deref().map(common_params).unwrap_or_default();
    let label = |index: usize| match (
        ids.as_ref().and_then(|it| it.get(index)),
        frame.names().get(index),
    ) {
        (Some(id), _) if !common.is_empty() => {
            let own = id.iter().filter(|it| !common.contains(it));
            joined(own)
        }
        // The only one is named above the table.
        (_, Some(name)) if frame.len() > 1 => name.to_string(),
        _ => String::new(),
    };
    let heads: Vec<String> = frame.columns().iter().map(|it| it.to_string()).collect();
    let rows = frame.rows().enumerate();
    let rows =
        rows.map(|(index, (_, row))| (label(index), row.iter().map(|it| number(*it)).collect()));
    let rows: Vec<(String, Vec<String>)> = rows.collect();
    let mut shown = text!("{BOLD}{}{BOLD:#}", count(frame.len() as u64, "trace"));
    if let [name] = frame.names() {
        shown = text!("{shown}: {name}");
    }
    if !common.is_empty() {
        shown = text!("{shown}, all with {}", joined(common.iter().copied()));
    }
    shown = text!("{shown}\n");
    if heads.is_empty() {
        return text!("{shown}no values at these commits\n");
    }
    shown = text!("{shown}\n{}", matrix(&heads, &rows));
    if !table.commits.is_empty() {
        shown = text!("{shown}\n");
    }
    let wide = heads.iter().map(String::len).max().unwrap_or_default();
    for it in &table.commits {
        let day: String = date(it.time.saturating_mul(1000))
            .chars()
            .take(10)
            .collect();
        shown = text!(
            "{shown}{DIM}{:>wide$}{DIM:#}  {}  {day}  {}\n",
            it.number,
            short(&it.hash),
            it.subject
        );
    }
    if !table.annotations.is_empty() {
        shown = text!("{shown}\n{}", annotations(&table.annotations));
    }
    shown
}

/// Annotations, a line for each.
pub(crate) fn annotations(annotations: &[NumberedAnnotation]) -> Text {
    let mut shown = Text::default();
    for NumberedAnnotation { number, annotation } in annotations {
        let mut about = String::new();
        match &annotation.kind {
            AnnotationKind::MachineChange(it) => {
                let _ = write!(
                    about,
                    "{} changes from {} to {}. ",
                    it.key, it.before, it.after
                );
            }
            AnnotationKind::Joined(it) => {
                let _ = write!(about, "{} goes on as {}. ", it.before, it.after);
            }
            _ => {}
        }
        about.push_str(&annotation.text);
        let query = annotation.query.to_string();
        let of = if query.is_empty() {
            String::new()
        } else {
            format!(", {query}")
        };
        let when = annotation.edited.unwrap_or(annotation.created);
        shown = text!(
            "{shown}note {number} at commit {}: {} {DIM}({}, {}{of}){DIM:#}\n",
            annotation.commit,
            about.trim(),
            annotation.author,
            date(when),
        );
    }
    shown
}

/// The parameters that all of several traces have.
fn common_params<'a>(ids: &[&'a TraceId]) -> Vec<(&'a str, &'a str)> {
    let Some((first, rest)) = ids.split_first() else {
        return Vec::new();
    };
    if rest.is_empty() {
        return Vec::new();
    }
    let is_common = |(key, value): &(&str, &str)| rest.iter().all(|it| it.get(key) == Some(*value));
    first.iter().filter(is_common).collect()
}

fn joined<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(", ")
}

/// A table of numbers with labels, in blocks of columns that fit on a line.
pub(crate) fn matrix(heads: &[String], rows: &[(String, Vec<String>)]) -> Text {
    let mut labels: Vec<usize> = rows.iter().map(|it| it.0.chars().count()).collect();
    labels.retain(|it| *it <= LONGEST_LABEL);
    let label = labels.into_iter().max().unwrap_or_default();
    let cells = |at: usize| rows.iter().filter_map(move |it| it.1.get(at));
    let widths: Vec<usize> = (heads.iter().enumerate())
        .map(|(at, head)| {
            let widest = cells(at).map(|it| it.chars().count()).max();
            widest.unwrap_or_default().max(head.chars().count()) + 2
        })
        .collect();
    let mut shown = Text::default();
    let mut from = 0;
    while from < heads.len() {
        let mut to = from;
        let mut used = label;
        while let Some(width) = widths.get(to)
            && (to == from || used + width <= WIDTH)
        {
            used += width;
            to += 1;
        }
        if from > 0 {
            shown = text!("{shown}\n");
        }
        let mut head = " ".repeat(label);
        for (name, width) in heads.iter().zip(&widths).take(to).skip(from) {
            let _ = write!(head, "{name:>width$}");
        }
        shown = text!("{shown}{DIM}{head}{DIM:#}\n");
        for (name, values) in rows {
            let mut line = match name.chars().count() > label {
                true => format!("{name}\n{}", " ".repeat(label)),
                false => format!("{name:<label$}"),
            };
            for (value, width) in values.iter().zip(&widths).take(to).skip(from) {
                let _ = write!(line, "{value:>width$}");
            }
            shown = text!("{shown}{line}\n");
        }
        from = to;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_make_another_block() {
        let heads: Vec<String> = (0..30).map(|it| format!("{}", 100 + it)).collect();
        let row = |name: &str| {
            (
                name.to_owned(),
                heads.iter().map(|_| "12.34".to_owned()).collect(),
            )
        };
        let long = "x".repeat(60);
        let shown = matrix(&heads, &[row("a"), row(&long)]).to_string();
        let plain: Vec<&str> = shown.lines().collect();
        assert_eq!(plain.iter().filter(|it| **it == long).count(), 3);
        assert!(
            plain.iter().all(|it| it.chars().count() <= WIDTH + 8),
            "{shown}"
        );
    }
}
