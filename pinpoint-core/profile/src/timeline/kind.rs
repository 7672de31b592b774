//! The kinds of entries, and their identity.

use std::fmt;

use super::{FunctionId, Timeline};
use crate::{NameId, Names};

/// A kind in [`Timeline::kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub(super) u32);

impl KindId {
    /// Its place in [`Timeline::kinds`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A kind of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The name of the event, or of the function; empty for an anonymous one.
    pub name: NameId,
    /// The label of a console timestamp; empty for all others.
    pub label: NameId,
    /// The URL of its script, document or style sheet; may be empty.
    pub url: NameId,
    /// Its category.
    pub category: Category,
    /// The function, for calls.
    pub function: Option<FunctionId>,
}

impl Kind {
    pub(super) fn event(name: NameId, label: NameId, url: NameId, names: &Names) -> Self {
        Self {
            name,
            label,
            url,
            category: Category::of_event(names.get(name)),
            function: None,
        }
    }

    pub(super) fn call(names: &Names, name: NameId, url: NameId, function: FunctionId) -> Self {
        let category = match names.get(name) {
            _ if url != NameId::EMPTY => Category::Scripting,
            "(garbage collector)" => Category::GarbageCollection,
            "(idle)" => Category::Idle,
            "(root)" | "(program)" => Category::Other,
            _ => Category::Scripting,
        };
        Self {
            name,
            label: NameId::EMPTY,
            url,
            category,
            function: Some(function),
        }
    }
}

impl Timeline {
    /// The identity of a kind: `f:NAME@SCRIPT:LINE:COLUMN` for calls of a function, `NAME:LABEL`
    /// for a console timestamp, else the event's name.
    ///
    /// Script, line and column are V8's: the number of a script holds in one run only.
    pub fn id(&self, kind: KindId) -> String {
        let Some(kind) = self.kinds.get(kind.index()) else {
            return String::new();
        };
        let name = self.names.get(kind.name);
        if let Some(function) = kind.function.and_then(|id| self.function(id)) {
            let script = match self.names.get(function.script) {
                "" => self.names.get(function.url),
                script => script,
            };
            let (line, column) = (function.line, function.column);
            return format!("f:{name}@{script}:{line}:{column}");
        }
        match self.names.get(kind.label) {
            "" => name.to_owned(),
            label => format!("{name}:{label}"),
        }
    }

    /// Like [`Timeline::id`], except that calls are told apart by the URL of the script: V8 numbers
    /// scripts differently in each run.
    pub fn id_across_runs(&self, kind: KindId) -> String {
        let known = self.kinds.get(kind.index());
        let function = known.and_then(|kind| self.function(kind.function?));
        match known.zip(function) {
            Some((kind, function)) => {
                let [name, url] = [kind.name, kind.url].map(|id| self.names.get(id));
                format!("f:{name}@{url}:{}:{}", function.line, function.column)
            }
            None => self.id(kind),
        }
    }
}

/// A category of activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Scripts, and compiling them.
    Scripting,
    /// Styles and layout.
    Rendering,
    /// Painting and images.
    Painting,
    /// Parsing of documents and style sheets.
    Loading,
    /// Garbage collection.
    GarbageCollection,
    /// Messages between windows and workers.
    Messaging,
    /// Requests to other machines, as instants on the thread that makes them.
    Network,
    /// Nothing.
    Idle,
    /// All others.
    Other,
}

impl Category {
    /// The category of an event, by the names of Chromium's events.
    pub(crate) fn of_event(name: &str) -> Self {
        match name {
            "Animation"
            | "ComputeIntersections"
            | "HitTest"
            | "InvalidateLayout"
            | "Layerize"
            | "Layout"
            | "PrePaint"
            | "ScheduleStyleRecalculation"
            | "ScrollLayer"
            | "UpdateLayer"
            | "UpdateLayerTree"
            | "UpdateLayoutTree" => Self::Rendering,
            "Commit"
            | "CompositeLayers"
            | "Decode Image"
            | "Decode LazyPixelRef"
            | "Draw LazyPixelRef"
            | "ImageDecodeTask"
            | "Paint"
            | "PaintImage"
            | "PaintSetup"
            | "RasterTask"
            | "Rasterize" => Self::Painting,
            "CommitLoad" | "ParseAuthorStyleSheet" | "ParseHTML" => Self::Loading,
            "GCEvent" | "MajorGC" | "MinorGC" => Self::GarbageCollection,
            "HandlePostMessage" | "SchedulePostMessage" => Self::Messaging,
            "v8.parseOnBackgroundWaiting" => Self::Idle,
            "AbortPostTaskCallback"
            | "CancelAnimationFrame"
            | "CancelIdleCallback"
            | "EvaluateScript"
            | "EventDispatch"
            | "FireAnimationFrame"
            | "FireIdleCallback"
            | "FunctionCall"
            | "RequestAnimationFrame"
            | "RequestIdleCallback"
            | "RunMicrotasks"
            | "RunPostTaskCallback"
            | "SchedulePostTaskCallback"
            | "TimeStamp"
            | "TimerFire"
            | "TimerInstall"
            | "TimerRemove"
            | "V8Console::runTask"
            | "XHRLoad"
            | "XHRReadyStateChange" => Self::Scripting,
            _ if begins(name, &["BlinkGC", "CppGC", "V8.GC"]) => Self::GarbageCollection,
            _ if begins(name, &["Resource"]) => Self::Network,
            _ if begins(name, &["v8.", "V8.", "WebSocket"]) => Self::Scripting,
            _ => Self::Other,
        }
    }

    /// A short name: `scripting`, `gc`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scripting => "scripting",
            Self::Rendering => "rendering",
            Self::Painting => "painting",
            Self::Loading => "loading",
            Self::GarbageCollection => "gc",
            Self::Messaging => "messaging",
            Self::Network => "network",
            Self::Idle => "idle",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

fn begins(name: &str, beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// Returns true if the event leads into a script: samples in it are its calls.
pub(super) fn enters_script(name: &str) -> bool {
    matches!(
        name,
        "RunMicrotasks" | "FunctionCall" | "EvaluateScript" | "EventDispatch"
    ) || begins(name, &["v8", "V8"])
}

/// Like [`enters_script`], except for V8's own events, which are not shown.
pub(super) fn enters_script_visibly(name: &str) -> bool {
    enters_script(name) && (name == "V8Console::runTask" || !begins(name, &["v8", "V8"]))
}
