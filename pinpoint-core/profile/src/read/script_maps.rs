//! The source maps that a trace carries for its scripts.
//!
//! DevTools keeps them with a trace that it saves with all details:
//!
//! ```json
//! {"traceEvents": […], "metadata": {"sourceMaps":
//!   [{"url": "https://example.com/a.js", "sourceMapUrl": "https://example.com/a.js.map", "sourceMap": {…}}]}}
//! ```
//!
//! A map that cannot be read is passed over and reported: without it functions are named as
//! they ran.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::source_map::SourceMap;
use super::v8::CallFrame;
use crate::ProfileWarning;
use crate::builder::Builder;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Metadata<'a> {
    #[serde(borrow)]
    source_maps: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, default)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    source_map: Option<&'a RawValue>,
}

/// The maps by the URLs of their scripts. Each is read when a function needs it.
#[derive(Default)]
pub(super) struct ScriptMaps<'a> {
    maps: HashMap<Cow<'a, str>, ScriptMap<'a>>,
}

enum ScriptMap<'a> {
    Unread(&'a RawValue),
    Read(SourceMap),
    /// It cannot be read, which was reported.
    Unreadable,
}

impl<'a> ScriptMaps<'a> {
    pub(super) fn from_metadata(metadata: Option<&'a RawValue>, builder: &mut Builder) -> Self {
        let Some(metadata) = metadata else {
            return Self::default();
        };
        let metadata: Metadata = match serde_json::from_str(metadata.get()) {
            Ok(metadata) => metadata,
            Err(error) => {
                builder.warn(ProfileWarning::SourceMap {
                    script: String::new(),
                    problem: error.to_string(),
                });
                return Self::default();
            }
        };
        let entries = metadata.source_maps.into_iter();
        let maps = entries.filter_map(|entry| {
            let map = ScriptMap::Unread(entry.source_map?);
            Some((entry.url, map))
        });
        Self {
            maps: maps.collect(),
        }
    }

    /// Gives a function the name and place that it had before its script was bundled.
    pub(super) fn resolve(&mut self, frame: &mut CallFrame, builder: &mut Builder) {
        let Some(map) = self.maps.get_mut(&*frame.url) else {
            return;
        };
        if let ScriptMap::Unread(text) = map {
            *map = match SourceMap::read(text.get(), &frame.url) {
                Ok(read) => ScriptMap::Read(read),
                Err(problem) => {
                    builder.warn(ProfileWarning::SourceMap {
                        script: frame.url.to_string(),
                        problem,
                    });
                    ScriptMap::Unreadable
                }
            };
        }
        // Counted from 0; -1 for none.
        let position = |number: Option<f64>| number.filter(|it| *it >= 0.0).map(|it| it as u32);
        let line = position(frame.line_number);
        let place = line.zip(position(frame.column_number));
        let (ScriptMap::Read(map), Some((line, column))) = (map, place) else {
            return;
        };
        let Some(original) = map.original(line, column, &frame.function_name) else {
            return;
        };
        let ran = frame.frame(builder);
        if let Some(name) = original.name {
            frame.function_name = Cow::Owned(name.to_owned());
        }
        frame.line_number = Some(original.line.into());
        frame.column_number = Some(original.column.into());
        frame.url = Cow::Owned(original.source.to_owned());
        let resolved = frame.frame(builder);
        builder.source_mapped(ran, resolved);
    }
}
