//! speedscope's own JSON.

use serde::Serialize;

use super::{ExportError, Exported, MOST_STEPS};
use crate::ProfileUnit;
use crate::StackTree;

impl StackTree {
    pub(super) fn speedscope(
        &self,
        exported: Exported,
        unit: &ProfileUnit,
    ) -> Result<Vec<u8>, ExportError> {
        let frames: Vec<SpeedscopeFrame> = self
            .functions
            .iter()
            .map(|function| SpeedscopeFrame {
                name: &function.name,
                file: function.file.as_deref(),
                line: function.line,
            })
            .collect();
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        let mut left = MOST_STEPS;
        for (place, node) in self.weighed(exported) {
            let mut stack = self.stack(place, &mut left)?;
            stack.reverse();
            samples.push(stack);
            weights.push(node.weight(exported));
        }
        let end_value: f64 = weights.iter().sum();
        let profile = SpeedscopeProfile {
            r#type: "sampled",
            name: match exported {
                Exported::Base => "base",
                _ => "experiment",
            },
            unit: match unit {
                ProfileUnit::Nanoseconds => "nanoseconds",
                ProfileUnit::Bytes => "bytes",
                _ => "none",
            },
            start_value: 0.0,
            end_value,
            samples,
            weights,
        };
        Ok(serde_json::to_vec(&Speedscope {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: SpeedscopeShared { frames },
            profiles: [profile],
        })?)
    }
}

#[derive(Serialize)]
struct Speedscope<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    shared: SpeedscopeShared<'a>,
    profiles: [SpeedscopeProfile<'a>; 1],
}

#[derive(Serialize)]
struct SpeedscopeShared<'a> {
    frames: Vec<SpeedscopeFrame<'a>>,
}

#[derive(Serialize)]
struct SpeedscopeFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpeedscopeProfile<'a> {
    r#type: &'a str,
    name: &'a str,
    unit: &'a str,
    start_value: f64,
    end_value: f64,
    samples: Vec<Vec<usize>>,
    weights: Vec<f64>,
}
