//! pprof's profile, compressed.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hashbrown::HashMap;
use prost::Message;

use super::{ExportError, Exported, MOST_STEPS};
use crate::ProfileUnit;
use crate::StackTree;
use crate::read::pprof::proto;

impl StackTree {
    pub(super) fn pprof(
        &self,
        exported: Exported,
        unit: &ProfileUnit,
    ) -> Result<Vec<u8>, ExportError> {
        let mut strings = Strings::default();
        let (kind, unit_name) = match unit {
            ProfileUnit::Nanoseconds => ("cpu".to_owned(), "nanoseconds"),
            ProfileUnit::Bytes => ("space".to_owned(), "bytes"),
            other => (other.to_string(), "count"),
        };
        let mut profile = proto::Profile {
            sample_type: vec![proto::ValueType {
                r#type: strings.id(&kind),
                unit: strings.id(unit_name),
            }],
            ..proto::Profile::default()
        };
        let mut modules: HashMap<&str, u64> = HashMap::new();
        for (function, id) in self.functions.iter().zip(1_u64..) {
            let module = function.module.as_deref().unwrap_or_default();
            let next = modules.len() as u64 + 1;
            let mapping_id = *modules.entry(module).or_insert_with(|| {
                profile.mapping.push(proto::Mapping {
                    id: next,
                    filename: strings.id(module),
                });
                next
            });
            let name = strings.id(&function.name);
            profile.function.push(proto::Function {
                id,
                name,
                system_name: name,
                filename: strings.id(function.file.as_deref().unwrap_or_default()),
                start_line: i64::from(function.line.unwrap_or(0)),
            });
            let line = proto::Line {
                function_id: id,
                line: i64::from(function.line.unwrap_or(0)),
            };
            profile.location.push(proto::Location {
                id,
                mapping_id,
                address: 0,
                line: vec![line],
            });
        }
        let (mut left, mut rounding) = (MOST_STEPS, 0.0);
        for (place, node) in self.weighed(exported) {
            // Values are whole, and means over runs may be less than one: the rounding error of a
            // stack is carried to the next one, so that the sum is right.
            let exact = node.weight(exported) + rounding;
            let value = exact.round();
            rounding = exact - value;
            if value == 0.0 {
                continue;
            }
            let stack = self.stack(place, &mut left)?;
            profile.sample.push(proto::Sample {
                location_id: stack.into_iter().map(|f| f as u64 + 1).collect(),
                value: vec![value as i64],
            });
        }
        profile.string_table = strings.list;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&profile.encode_to_vec())?;
        Ok(encoder.finish()?)
    }
}

/// pprof's table of strings, the first of which is empty.
struct Strings {
    list: Vec<String>,
    index: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self {
            list: vec![String::new()],
            index: HashMap::from_iter([(String::new(), 0)]),
        }
    }
}

impl Strings {
    fn id(&mut self, text: &str) -> i64 {
        if let Some(id) = self.index.get(text) {
            return *id;
        }
        let id = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.index.insert(text.to_owned(), id);
        id
    }
}
