//! The activity of a browser's thread at the time of a sample, by its events.

use super::trace_events::Event;
use crate::Category;

/// The events of one thread that show an activity; all others are passed over.
#[derive(Default)]
pub(super) struct OpenEvents {
    events: Vec<Open>,
    /// Begun and not ended: the time, and the category.
    begun: Vec<(f64, Category)>,
}

/// An event from one time to another, in microseconds.
#[derive(Clone, Copy)]
struct Open {
    start: f64,
    end: f64,
    category: Category,
}

impl OpenEvents {
    pub(super) fn add(&mut self, event: &Event) {
        let Some(start) = event.ts else {
            return;
        };
        let category = Category::of_event(&event.name);
        match &*event.ph {
            "X" => self.push(start, start + event.dur.unwrap_or(0.0), category),
            "B" => self.begun.push((start, category)),
            "E" => {
                if let Some((begin, category)) = self.begun.pop() {
                    self.push(begin, start, category);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, start: f64, end: f64, category: Category) {
        if category != Category::Other && start < end {
            self.events.push(Open {
                start,
                end,
                category,
            });
        }
    }

    pub(super) fn in_order(&self) -> InOrder {
        let mut events = self.events.clone();
        // Of those that begin at once, the longest is around the others.
        events.sort_by(|a, b| (a.start.total_cmp(&b.start)).then(b.end.total_cmp(&a.end)));
        InOrder {
            events,
            next: 0,
            open: Vec::new(),
        }
    }
}

/// The same in the order of time.
pub(super) struct InOrder {
    events: Vec<Open>,
    next: usize,
    open: Vec<Open>,
}

impl InOrder {
    /// The activity of the innermost event at a time. Times must be asked in order.
    pub(super) fn at(&mut self, time: f64) -> Option<Category> {
        while let Some(event) = self.events.get(self.next)
            && event.start <= time
        {
            self.open.push(*event);
            self.next += 1;
        }
        while self.open.pop_if(|event| event.end <= time).is_some() {}
        self.open.last().map(|event| event.category)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_event_says_what_is_done() {
        let mut events = OpenEvents::default();
        for text in [
            r#"{"name": "RunTask", "ph": "X", "ts": 0, "dur": 100}"#,
            r#"{"name": "FunctionCall", "ph": "B", "ts": 10}"#,
            r#"{"name": "Layout", "ph": "X", "ts": 20, "dur": 10}"#,
            r#"{"name": "FunctionCall", "ph": "E", "ts": 40}"#,
            r#"{"name": "ParseHTML", "ph": "B", "ts": 90}"#,
            r#"{"name": "Paint", "ph": "X"}"#,
        ] {
            events.add(&serde_json::from_str(text).unwrap());
        }
        let mut at = events.in_order();
        let found = [0.0, 10.0, 20.0, 29.0, 30.0, 40.0, 95.0].map(|time| at.at(time));
        let (script, layout) = (Some(Category::Scripting), Some(Category::Rendering));
        assert_eq!(found, [None, script, layout, layout, script, None, None]);
    }
}
