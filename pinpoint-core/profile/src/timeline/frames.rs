//! The frames that a page showed, with the numbers by which DevTools finds them.
//!
//! The compositor says when it begins a frame, and when it draws or drops it. A frame lasts from
//! the beginning of one that was drawn or dropped to that of the next such. One that waits for
//! the main thread is drawn once that has committed. Only the page's main frame counts: its layer
//! tree, and the main threads of the processes that held it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::model::PageFrame;
use super::read::{ThreadKey, thread_of};
use crate::read::trace_events::Event;

/// The meaning of an event for frames.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Saying<'a> {
    /// The layer tree of a frame of the document.
    LayerTree(&'a str, i64),
    /// The compositor begins a frame.
    Begun(i64),
    Drawn(i64),
    Dropped {
        frame: i64,
        is_partial: bool,
    },
    /// The compositor asks the main thread for a frame.
    MainRequested,
    /// The main thread's commit will be drawn.
    Activated,
    /// There is something to draw.
    Needed,
    /// The main thread does something for a frame.
    MainWorks,
    MainCommitted,
    /// The main thread begins a task.
    Task,
}

#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    thread: ThreadKey,
    start: f64,
    end: f64,
    /// Its layer tree.
    tree: Option<i64>,
    saying: Saying<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Arguments<'a> {
    layer_tree_id: Option<i64>,
    frame_seq_id: Option<i64>,
    #[serde(borrow)]
    has_partial_update: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Data<'a> {
    #[serde(borrow)]
    needs_begin_frame: Option<&'a RawValue>,
    #[serde(borrow)]
    frame: &'a str,
    layer_tree_id: Option<i64>,
    process_id: Option<i64>,
    #[serde(borrow)]
    frames: Vec<Document<'a>>,
}

/// A frame of the document, as the browser lists them.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Document<'a> {
    #[serde(borrow)]
    frame: &'a str,
    #[serde(borrow)]
    parent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    process_id: Option<i64>,
    is_outermost_main_frame: Option<bool>,
    is_in_primary_main_frame: Option<bool>,
}

impl Document<'_> {
    /// The main frame of the page; older versions of Chromium have less data.
    fn is_main(&self) -> bool {
        match (self.is_outermost_main_frame, self.is_in_primary_main_frame) {
            (Some(outermost), primary) => outermost && primary.unwrap_or(true),
            (None, _) => self.parent.as_deref().unwrap_or("").is_empty() && !self.url.is_empty(),
        }
    }
}

/// The events of a file about frames.
#[derive(Default)]
pub(super) struct Frames<'a> {
    steps: Vec<Step<'a>>,
    main: &'a str,
    /// Frames of documents, and the processes that held them.
    held: Vec<(&'a str, i64)>,
}

impl<'a> Frames<'a> {
    /// Takes in an event. Events of another shape than Chromium's are ignored.
    pub(super) fn event(&mut self, event: &Event<'a>) {
        let saying = match &*event.name {
            "RunTask" if event.ph == "X" && event.cat.contains(OF_DEVTOOLS) => Saying::Task,
            "ScheduleStyleRecalculation"
            | "InvalidateLayout"
            | "BeginMainThreadFrame"
            | "ScrollLayer" => Saying::MainWorks,
            "TracingStartedInBrowser" | "FrameCommittedInBrowser" | "CommitLoad" => {
                self.documents(event);
                return;
            }
            "SetLayerTreeId" => {
                let data = data(event);
                let Some(tree) = data.layer_tree_id else {
                    return;
                };
                Saying::LayerTree(data.frame, tree)
            }
            "RequestMainThreadFrame" => Saying::MainRequested,
            "ActivateLayerTree" => Saying::Activated,
            "NeedsBeginFrameChanged" if is_true(data(event).needs_begin_frame) => Saying::Needed,
            "CompositeLayers" => Saying::MainCommitted,
            "BeginFrame" | "DrawFrame" | "DroppedFrame" | "Commit" => {
                let arguments: Arguments = event.arguments().unwrap_or_default();
                let Some(frame) = arguments.frame_seq_id else {
                    return;
                };
                match &*event.name {
                    "BeginFrame" => Saying::Begun(frame),
                    // Older versions have pairs of events of that name, which are not frames.
                    "DrawFrame" if event.ph == "I" => Saying::Drawn(frame),
                    "DroppedFrame" => Saying::Dropped {
                        frame,
                        is_partial: is_true(arguments.has_partial_update),
                    },
                    "Commit" => Saying::MainCommitted,
                    _ => return,
                }
            }
            _ => return,
        };
        let tree = match saying {
            Saying::Task | Saying::MainWorks | Saying::LayerTree(..) => None,
            _ => {
                event
                    .arguments::<Arguments>()
                    .unwrap_or_default()
                    .layer_tree_id
            }
        };
        let (Some(start), Ok(thread)) = (event.ts, thread_of(event)) else {
            return;
        };
        let end = start + event.dur.unwrap_or(0.0);
        self.steps.push(Step {
            thread,
            start,
            end,
            tree,
            saying,
        });
    }

    /// Notes the frames of documents, and the processes that hold them.
    fn documents(&mut self, event: &Event<'a>) {
        let data = data(event);
        for document in data.frames {
            if document.is_main() {
                self.main = document.frame;
            }
            self.held
                .extend(document.process_id.map(|id| (document.frame, id)));
        }
        if event.name != "TracingStartedInBrowser" {
            let own = thread_of(event).ok().map(|(process, _)| process);
            let process = data.process_id.or(own);
            self.held.extend(process.map(|id| (data.frame, id)));
        }
    }

    /// The frames, in order. `threads` are the main threads of processes, with the time of the
    /// first event there.
    pub(super) fn finish(mut self, threads: &[(ThreadKey, f64)]) -> Vec<PageFrame> {
        let is_drawn = |step: &Step| matches!(step.saying, Saying::Drawn(_));
        if !self.steps.iter().any(is_drawn) {
            return Vec::new();
        }
        self.steps.sort_by(|a, b| -> Ordering {
            let longest_first = b.end.total_cmp(&a.end);
            a.start.total_cmp(&b.start).then(longest_first)
        });
        let holds_main = |process: i64| self.held.contains(&(self.main, process));
        let mut threads: Vec<_> = threads.iter().filter(|it| holds_main(it.0.0)).collect();
        threads.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut screen = Screen::default();
        let (mut tree, mut active) = (None, 0);
        for step in &self.steps {
            while threads
                .get(active + 1)
                .is_some_and(|next| next.1 <= step.start)
            {
                active += 1;
            }
            let is_main = threads.get(active).is_some_and(|it| it.0 == step.thread);
            let is_shown = tree.is_some() && step.tree == tree;
            match step.saying {
                Saying::LayerTree(frame, of) if frame == self.main => tree = Some(of),
                Saying::LayerTree(..) => {}
                Saying::Task if is_main => screen.last_task = Some(step.start),
                Saying::MainWorks if is_main => screen.main_works(step.start),
                Saying::MainCommitted if is_main && is_shown => screen.commit(),
                Saying::Task | Saying::MainWorks | Saying::MainCommitted => {}
                _ if is_shown => screen.compositor(step.start, step.saying),
                _ => {}
            }
        }
        screen.frames
    }
}

/// The category of the tasks that count.
const OF_DEVTOOLS: &str = "disabled-by-default-devtools.timeline";

fn data<'a>(event: &Event<'a>) -> Data<'a> {
    let outer: Arguments = event.arguments().unwrap_or_default();
    let data = outer
        .data
        .and_then(|raw| serde_json::from_str(raw.get()).ok());
    data.unwrap_or_default()
}

/// Chromium writes truth as a number, too.
fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| !matches!(raw.get(), "0" | "false" | "null"))
}

/// A frame that the compositor has begun.
#[derive(Clone, Copy, Debug)]
struct CompositorFrame {
    frame: i64,
    start: f64,
    is_dropped: bool,
    is_partial: bool,
}

/// The frames on the screen, and on their way there.
#[derive(Default)]
struct Screen {
    frames: Vec<PageFrame>,
    /// The frame that has not ended.
    last: Option<PageFrame>,
    /// The frames that are neither drawn nor passed by, and the place of each, counted from the
    /// first ever.
    begun: VecDeque<CompositorFrame>,
    places: BTreeMap<i64, usize>,
    passed: usize,
    is_requested: bool,
    is_committed: bool,
    /// The time at which the main thread began the frame that is not committed, and the one that is
    /// not activated.
    working: Option<f64>,
    waiting: Option<f64>,
    last_begun: Option<f64>,
    last_needed: Option<f64>,
    last_task: Option<f64>,
}

impl Screen {
    fn main_works(&mut self, time: f64) {
        self.working.get_or_insert(self.last_task.unwrap_or(time));
    }

    fn commit(&mut self) {
        if let Some(began) = self.working.take() {
            self.waiting = Some(began);
            self.is_requested = false;
            self.is_committed = true;
        }
    }

    fn compositor(&mut self, time: f64, saying: Saying) {
        match saying {
            Saying::Begun(frame) => {
                self.first(time);
                self.last_begun = Some(time);
                self.begin(frame, time);
            }
            Saying::Dropped { frame, is_partial } => {
                self.first(time);
                // It may not have been begun.
                let place = self.begin(frame, time);
                self.begun[place].is_dropped = true;
                self.begun[place].is_partial = is_partial;
            }
            Saying::Drawn(frame) => self.draw(frame, time),
            Saying::MainRequested => self.is_requested |= self.last.is_some(),
            Saying::Activated if self.last.is_some() && self.last_needed.is_none() => {
                self.waiting = None;
            }
            Saying::Needed => self.last_needed = Some(time),
            _ => {}
        }
    }

    fn first(&mut self, time: f64) {
        if self.last.is_none() {
            self.show(time);
        }
    }

    /// The place of a frame among those that are begun, with it if it is new.
    fn begin(&mut self, frame: i64, start: f64) -> usize {
        let next = self.passed + self.begun.len();
        let place = *self.places.entry(frame).or_insert(next);
        if place == next {
            self.begun.push_back(CompositorFrame {
                frame,
                start,
                is_dropped: false,
                is_partial: false,
            });
        }
        place - self.passed
    }

    fn draw(&mut self, frame: i64, time: f64) {
        let Some(last) = &mut self.last else {
            self.show(time);
            return;
        };
        if self.is_committed || !self.is_requested {
            if let Some(needed) = self.last_needed.take() {
                let idle_until = self.waiting.or(self.last_begun).unwrap_or(needed);
                if idle_until > last.start {
                    last.is_idle = true;
                    self.last_begun = None;
                }
            }
            self.show_begun(frame);
        }
        self.is_committed = false;
    }

    /// Shows the frame, and those before it that were dropped. Others before it were never drawn.
    fn show_begun(&mut self, frame: i64) {
        if !self.places.contains_key(&frame) {
            return;
        }
        while let Some(begun) = self.begun.pop_front() {
            self.passed += 1;
            self.places.remove(&begun.frame);
            let is_drawn = begun.frame == frame;
            if is_drawn || begun.is_dropped {
                let was_idle = self.last.is_some_and(|last| last.is_idle);
                self.show(begun.start);
                if was_idle {
                    self.waiting = None;
                }
                if let Some(last) = &mut self.last {
                    last.is_dropped = begun.is_dropped;
                    last.is_partial = begun.is_partial;
                }
            }
            if is_drawn {
                return;
            }
        }
    }

    fn show(&mut self, start: f64) {
        if let Some(last) = self.last.take() {
            self.frames.push(PageFrame {
                duration: start - last.start,
                ..last
            });
        }
        self.last = Some(PageFrame {
            start,
            duration: 0.0,
            is_idle: false,
            is_dropped: false,
            is_partial: false,
        });
    }
}
