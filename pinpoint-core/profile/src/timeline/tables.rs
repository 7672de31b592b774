//! Names, functions and kinds, each kept once while a timeline is read.

use super::{FunctionId, Kind, KindId, ScriptFunction};
use crate::builder::Table;
use crate::read::v8::CallFrame;
use crate::{NameId, Names, ReadProfileError};

/// The most entries: some 1 GB.
pub(super) const MOST_ENTRIES: usize = 1 << 24;

/// The most functions on the stacks of all samples, each counted as often as it is looked
/// at: a few seconds' work.
pub(super) const MOST_STEPS: u64 = 1 << 28;

#[derive(Default)]
pub(super) struct Tables {
    pub(super) names: Names,
    pub(super) functions: Table<ScriptFunction>,
    pub(super) kinds: Table<Kind>,
    full: bool,
}

impl Tables {
    pub(super) fn name(&mut self, name: &str) -> NameId {
        self.names.intern(name).unwrap_or_else(|| {
            self.full = true;
            NameId::EMPTY
        })
    }

    pub(super) fn kind(&mut self, kind: Kind) -> KindId {
        KindId(self.kinds.intern(kind))
    }

    pub(super) fn function(&mut self, frame: &CallFrame) -> FunctionId {
        let script = frame.script_id.map_or("", |id| id.get().trim_matches('"'));
        let function = ScriptFunction {
            name: self.name(&frame.function_name),
            script: self.name(script),
            url: self.name(&frame.url),
            line: position(frame.line_number),
            column: position(frame.column_number),
        };
        FunctionId(self.functions.intern(function))
    }

    /// A function of V8's own runtime, which is not drawn among events.
    pub(super) fn is_runtime(&self, function: FunctionId) -> bool {
        let function = self.functions.values.get(function.0 as usize);
        function.is_some_and(|function| self.names.get(function.url) == "native V8Runtime")
    }

    /// The kind of calls of a function.
    pub(super) fn call(&mut self, function: FunctionId) -> KindId {
        let name = self.functions.values[function.0 as usize].name;
        let url = self.functions.values[function.0 as usize].url;
        let kind = Kind::call(&self.names, name, url, function);
        self.kind(kind)
    }

    /// The most names are checked here, once: a table that is full grows no more.
    pub(super) fn check(&self) -> Result<(), ReadProfileError> {
        if self.full {
            return Err(ReadProfileError::TooLarge {
                what: "bytes of names",
                most: 1 << 30,
            });
        }
        Ok(())
    }
}

/// A line or column; -1 where there is none.
fn position(number: Option<f64>) -> i32 {
    number.map_or(-1, |number| number as i32)
}

/// A function on the stack that an event carries. V8 counts some of them from 1.
pub(super) struct PayloadFrame<'a>(pub(super) CallFrame<'a>);

impl PayloadFrame<'_> {
    /// The frame with positions counted from 0; 0 stays 0, as DevTools has it.
    pub(super) fn counted_from_zero(self) -> Self {
        let less = |number: Option<f64>| number.map(|number| (number - 1.0).max(0.0));
        Self(CallFrame {
            line_number: less(self.0.line_number),
            column_number: less(self.0.column_number),
            ..self.0
        })
    }
}
