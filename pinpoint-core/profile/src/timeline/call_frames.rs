//! Finds the function of a profile for a call of a timeline.

use hashbrown::HashMap;

use super::{KindId, Timeline};
use crate::{Frame, FrameId, Profile};

/// Name, URL, line and column of a function, as a profile has them.
type Described<'a> = (&'a str, &'a str, u32, u32);

/// The functions of a profile, by the calls in a timeline of the same file.
///
/// For functions that source maps rename, a timeline has the name and place as they ran.
pub struct CallFrames<'a> {
    frames: HashMap<Described<'a>, FrameId>,
}

impl<'a> CallFrames<'a> {
    /// Those of this profile.
    pub fn of(profile: &'a Profile) -> Self {
        let described = |frame: &Frame| {
            let text = |id| profile.names.get(id);
            (text(frame.name), text(frame.file), frame.line, frame.column)
        };
        let frames = profile.frames.iter().map(described);
        let mut frames: HashMap<Described, FrameId> = frames.zip(profile.frame_ids()).collect();
        for (ran, original) in &profile.source_mapped {
            if let Some(frame) = frames.get(&described(original)) {
                frames.insert(described(ran), *frame);
            }
        }
        Self { frames }
    }

    /// The function of calls of this kind; none for events, and where the profile does not have
    /// it.
    pub fn of_kind(&self, timeline: &Timeline, kind: KindId) -> Option<FrameId> {
        let function = timeline.kinds.get(kind.index())?.function?;
        let function = timeline.function(function)?;
        let text = |id| timeline.names.get(id);
        // Counted from 1, and 0 for none.
        let position = |number: i32| (i64::from(number) + 1).max(0) as u32;
        let described = (
            text(function.name),
            text(function.url),
            position(function.line),
            position(function.column),
        );
        self.frames.get(&described).copied()
    }
}
