//! The arguments of events.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::tables::PayloadFrame;
use crate::read::trace_events::Event;
use crate::read::v8::CallFrame;

/// The parts of an event's arguments that the timeline needs.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    pub(super) label: Cow<'a, str>,
    pub(super) url: Cow<'a, str>,
    pub(super) task: Cow<'a, str>,
    /// The number of the sample that was taken for this event.
    pub(super) sample: Option<&'a str>,
    /// The innermost function first, positions counted from 0.
    pub(super) stack: Vec<PayloadFrame<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Outer<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    begin_data: Option<&'a RawValue>,
    #[serde(borrow)]
    sample_trace_id: Option<&'a RawValue>,
    #[serde(borrow)]
    stack_trace: Option<&'a RawValue>,
    #[serde(borrow)]
    task_name: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Data<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    style_sheet_url: Option<&'a RawValue>,
    #[serde(borrow)]
    sample_trace_id: Option<&'a RawValue>,
    #[serde(borrow)]
    stack_trace: Option<&'a RawValue>,
}

/// Reads the needed parts of the arguments.
///
/// Arguments of another shape than Chromium's are another program's, and are ignored.
pub(super) fn from_event<'a>(event: &Event<'a>) -> Arguments<'a> {
    let Some(raw) = event.args.map(RawValue::get) else {
        return Arguments::default();
    };
    let name = &*event.name;
    let matters = matches!(name, "TimeStamp" | "FunctionCall")
        || name.starts_with("v8::Debugger::AsyncTask")
        || ["sampleTraceId", "stackTrace", "rl\":"]
            .iter()
            .any(|member| raw.contains(member));
    if !matters {
        return Arguments::default();
    }
    let outer: Outer = serde_json::from_str(raw).unwrap_or_default();
    let data: Data = read(outer.data).unwrap_or_default();
    let begin: Data = read(outer.begin_data).unwrap_or_default();
    // Where an event has a separate beginning, its sample is the beginning's.
    let sample = match outer.begin_data {
        Some(_) => begin.sample_trace_id,
        None => outer.sample_trace_id.or(data.sample_trace_id),
    };
    let begin_stack = matches!(name, "Layout" | "UpdateLayoutTree").then_some(begin.stack_trace);
    let stack = data
        .stack_trace
        .or(outer.stack_trace)
        .or(begin_stack.flatten());
    let mut stack: Vec<CallFrame> = read(stack).unwrap_or_default();
    if stack.is_empty() && name == "FunctionCall" {
        let whole = |frame: &CallFrame| {
            let position = frame.line_number.and(frame.column_number);
            frame.script_id.is_some() && position.is_some()
        };
        stack.extend(read(outer.data).filter(whole));
    }
    let url = data.url.or(data.style_sheet_url).or(begin.url);
    let mut url: Cow<str> = read(url).unwrap_or_default();
    if let Some(innermost) = stack.first().filter(|_| url.is_empty()) {
        url = innermost.url.clone();
    }
    let frames = stack.into_iter().map(PayloadFrame);
    let stack = match counts_from_one(name, &event.cat) {
        true => frames.map(PayloadFrame::counted_from_zero).collect(),
        false => frames.collect(),
    };
    let label = match name {
        "TimeStamp" => read(data.name.or(data.message)).unwrap_or_default(),
        _ => Cow::Borrowed(""),
    };
    Arguments {
        label,
        url,
        task: read(outer.task_name).unwrap_or_default(),
        sample: sample
            .map(|id| id.get().trim_matches('"'))
            .filter(|id| *id != "0" && *id != "null"),
        stack,
    }
}

fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// The events on whose stacks lines and columns are counted from 1.
fn counts_from_one(name: &str, categories: &str) -> bool {
    categories == "blink.user_timing"
        || matches!(
            name,
            "FunctionCall"
                | "InvalidateLayout"
                | "Layout"
                | "ScheduleStyleRecalculation"
                | "UpdateLayoutTree"
        )
}
