//! Frames and tables as CSV and JSON.

use std::fmt::Write;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::frame::Frame;
use crate::missing::{from_exchange, to_exchange};
use crate::name::TraceName;
use crate::verticals::Verticals;

/// A frame as CSV (RFC 4180): a line for each row, a column for each commit.
///
/// Numbers are written with as many digits as it takes to read the same ones back. `missing` stands
/// where a value is missing: `1e32` as in Skia Perf, or an empty text, which other tools take for a
/// missing number.
///
/// ```
/// use pinpoint_traces::{Columns, CommitNumber, Frame, frame_to_csv};
///
/// let mut frame = Frame::new(Columns::range(CommitNumber(7)..=CommitNumber(8)));
/// frame.push(",arch=x86,".parse()?, &[1.5, f64::NAN])?;
/// assert_eq!(frame_to_csv(&frame, ""), "trace,7,8\n\",arch=x86,\",1.5,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn frame_to_csv(frame: &Frame, missing: &str) -> String {
    let mut text = String::from("trace");
    for commit in frame.columns().iter() {
        let _ = write!(text, ",{commit}");
    }
    text.push('\n');
    for (name, row) in frame.rows() {
        write_field(&mut text, &name.to_string());
        for value in row {
            text.push(',');
            if value.is_nan() {
                text.push_str(missing);
            } else {
                let _ = write!(text, "{value:?}");
            }
        }
        text.push('\n');
    }
    text
}

/// A table of ratios as CSV: a line for each row, with its mean, and an empty field where there is
/// no ratio.
pub fn verticals_to_csv(table: &Verticals) -> String {
    let mut text = String::from("row,mean");
    for column in &table.columns {
        text.push(',');
        write_field(&mut text, column);
    }
    text.push('\n');
    for row in &table.rows {
        write_field(&mut text, &row.name);
        let _ = write!(text, ",{:?}", row.mean);
        for cell in &row.cells {
            text.push(',');
            if let Some(cell) = cell {
                let _ = write!(text, "{:?}", cell.ratio);
            }
        }
        text.push('\n');
    }
    text
}

/// A field, in quotation marks where it needs them.
fn write_field(text: &mut String, field: &str) {
    if field.contains([',', '"', '\n', '\r']) {
        let _ = write!(text, "\"{}\"", field.replace('"', "\"\""));
    } else {
        text.push_str(field);
    }
}

/// A frame as JSON: `{"commits": [7, 8], "traces": {",arch=x86,": [1.5, 1e32]}}`, where 1e32 is
/// missing. Rows are in the order of the frame.
impl Serialize for Frame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let commits: Vec<u32> = self.columns().iter().map(|it| it.0).collect();
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("commits", &commits)?;
        map.serialize_entry("traces", &Rows(self))?;
        map.end()
    }
}

struct Rows<'a>(&'a Frame);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, row) in self.0.rows() {
            map.serialize_entry(&name.to_string(), &Row(row))?;
        }
        map.end()
    }
}

struct Row<'a>(&'a [f64]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = serializer.serialize_seq(Some(self.0.len()))?;
        for value in self.0 {
            values.serialize_element(&to_exchange(*value))?;
        }
        values.end()
    }
}

/// Reads what [`Frame`] is serialized to. A name that occurs twice has the later values.
impl<'de> serde::Deserialize<'de> for Frame {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            commits: Vec<crate::commit::CommitNumber>,
            traces: std::collections::BTreeMap<TraceName, Vec<f64>>,
        }

        let fields = Fields::deserialize(deserializer)?;
        let columns = crate::frame::Columns::list(fields.commits).map_err(D::Error::custom)?;
        let mut frame = Self::new(columns);
        for (name, values) in fields.traces {
            let values: Vec<f64> = values.into_iter().map(from_exchange).collect();
            frame.push(name, &values).map_err(D::Error::custom)?;
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::CommitNumber;
    use crate::frame::Columns;
    use crate::id::TraceId;
    use crate::verticals::verticals;

    #[test]
    fn a_frame_is_exported_and_its_json_read_back() {
        let mut frame = Frame::new(Columns::list(vec![CommitNumber(3), CommitNumber(9)]).unwrap());
        for (name, values) in [
            (",arch=x86,", [0.1 + 0.2, -0.0]),
            ("@ave(filter(\"a=\"))", [f64::NAN, 5e-324]),
        ] {
            frame.push(name.parse().unwrap(), &values).unwrap();
        }
        let csv = "trace,3,9\n\",arch=x86,\",0.30000000000000004,-0.0\n\"@ave(filter(\"\"a=\"\"))\",1e32,5e-324\n";
        assert_eq!(frame_to_csv(&frame, "1e32"), csv);
        let json = serde_json::to_string(&frame).unwrap();
        assert!(
            json.starts_with(
                r#"{"commits":[3,9],"traces":{",arch=x86,":[0.30000000000000004,-0.0],"#
            ),
            "{json}"
        );
        let read: Frame = serde_json::from_str(&json).unwrap();
        assert_eq!(read, frame);
        assert!(read.values()[2].is_nan());
    }

    #[test]
    fn a_table_of_ratios_is_exported() {
        let id = |text: &str| text.parse::<TraceId>().unwrap();
        let traces = [
            (id(",c=a,os=x,test=t,"), 1.0),
            (id(",c=b,os=x,test=t,"), 4.0),
            (id(",c=a,os=y,test=u,"), 3.0),
            (id(",c=b,os=y,test=u,"), 1.0),
        ];
        let values = traces.iter().map(|(id, value)| (id, *value));
        let table = verticals(values, "test", "c", "a", "b").unwrap();
        let csv = verticals_to_csv(&table);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "row,mean,x,y");
        assert_eq!(lines[1], "t,0.25,0.25,");
        assert!(
            lines[2].starts_with("u,") && lines[2].ends_with(",,3.0"),
            "{csv}"
        );
    }
}
