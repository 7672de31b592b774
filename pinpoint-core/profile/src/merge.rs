//! The profiles of several processes as one.

use super::builder::Builder;
use super::{Call, Frame, FrameId, Profile, ReadProfileError, Sample, StackId, Stacks, ThreadId};

impl Profile {
    /// One profile of a run in which several processes each wrote their own. Absent without
    /// any.
    ///
    /// The clocks of processes begin with them, so that of several profiles neither times
    /// nor marks are kept: cut a [window](Self::window) out of each before.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError::ProcessesDiffer`] where they count different things, and
    /// [`ReadProfileError::TooLarge`].
    ///
    /// # Cost
    ///
    /// Proportional to the profiles; a single one is returned unchanged.
    ///
    /// ```
    /// use pinpoint_profile::Profile;
    ///
    /// let process = |text: &str| Profile::read(text.as_bytes());
    /// let run = Profile::merged(vec![process("main;parse 3\n")?, process("main;print 4\n")?])?;
    /// assert_eq!(run.map(|run| run.total()), Some(7.0));
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn merged(mut profiles: Vec<Self>) -> Result<Option<Self>, ReadProfileError> {
        if profiles.len() < 2 {
            return Ok(profiles.pop());
        }
        let Some(first) = profiles.first() else {
            return Ok(None);
        };
        let unit = first.unit.clone();
        // The whole is not exact if one process is sampled.
        let sampled = profiles.iter().find(|profile| !profile.format.is_exact());
        let format = sampled.unwrap_or(first).format;
        let mut builder = Builder::default();
        for profile in &profiles {
            if profile.unit != unit {
                return Err(ReadProfileError::ProcessesDiffer {
                    first: unit,
                    found: profile.unit.clone(),
                });
            }
            add(profile, &mut builder);
        }
        let advice = "record the run again";
        builder.finish(format, unit, advice).map(Some)
    }
}

fn add(profile: &Profile, builder: &mut Builder) {
    let frames: Vec<FrameId> = (profile.frames.iter())
        .map(|frame| {
            let mut name = |id| builder.name(profile.names.get(id));
            let frame = Frame {
                name: name(frame.name),
                module: name(frame.module),
                file: name(frame.file),
                ..*frame
            };
            builder.frame(frame)
        })
        .collect();
    let frame_of = |frame: FrameId| frames.get(frame.0 as usize).copied();
    // A parent stands before its children.
    let mut stacks: Vec<StackId> = Vec::with_capacity(profile.stacks.len());
    for index in 0..profile.stacks.len() as u32 {
        let stack = StackId(index);
        let parent = profile.stacks.parent(stack);
        let parent = parent.and_then(|parent| stacks.get(parent.0 as usize).copied());
        let frame = profile.stacks.frame(stack).and_then(frame_of);
        let merged = match (parent, frame) {
            (Some(parent), Some(frame)) => builder.stack(parent, frame),
            _ => Stacks::ROOT,
        };
        stacks.push(merged);
    }
    let threads: Vec<ThreadId> = (profile.threads.iter())
        .map(|name| builder.thread(profile.names.get(*name)))
        .collect();
    for sample in &profile.samples {
        let stack = stacks.get(sample.stack.0 as usize).copied();
        let thread = threads.get(sample.thread.0 as usize).copied();
        builder.push(Sample {
            stack: stack.unwrap_or(Stacks::ROOT),
            thread: thread.unwrap_or_default(),
            ..*sample
        });
    }
    for page in &profile.pages {
        builder.page(profile.names.get(*page));
    }
    for warning in &profile.warnings {
        builder.warn(warning.clone());
    }
    for call in &profile.calls {
        if let (Some(caller), Some(callee)) = (frame_of(call.caller), frame_of(call.callee)) {
            builder.call(Call {
                caller,
                callee,
                ..*call
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExplainOptions, explain};

    fn profile(text: &str) -> Profile {
        Profile::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn functions_of_processes_are_the_same_and_their_costs_add_up() {
        let parts = [
            "main;parse 3\nmain;parse;next 1\n",
            "main;parse 4\nwait 2\n",
        ];
        let merged = Profile::merged(parts.map(profile).to_vec())
            .unwrap()
            .unwrap();
        let whole = profile(&parts.concat());
        assert_eq!((merged.total(), merged.stacks.len()), (10.0, 5));
        let same = explain(&[whole], &[merged], &ExplainOptions::default()).unwrap();
        assert!(same.functions.iter().all(|it| it.own.difference == 0.0));
        // All but `main`, which did nothing itself.
        assert_eq!(same.functions.len(), 3);
    }

    #[test]
    fn one_is_itself_and_none_is_none() {
        assert!(Profile::merged(Vec::new()).unwrap().is_none());
        let one = Profile::merged(vec![profile("main 3\n")]).unwrap().unwrap();
        assert_eq!(one.total(), 3.0);
    }

    #[test]
    fn what_counts_different_things_is_refused() {
        let callgrind = "# callgrind format\nevents: Ir\nfl=a.c\nfn=main\n1 5\n";
        let error = Profile::merged(vec![profile("main 3\n"), profile(callgrind)]).unwrap_err();
        assert!(
            error.to_string().contains("counted instructions"),
            "{error}"
        );
    }
}
