//! Flame charts: calls over time, from samples in the order of time.
//!
//! Each sample holds until the next one of its thread. Functions that are on two stacks in turn
//! continue, from the outermost to the first that differs; those above it end, and others begin. So
//! the durations of single calls are estimates, good to the distance between two samples: a
//! function that is called ten times between two samples is one call.
//!
//! A Chrome trace and a `.cpuprofile` have a [`Timeline`](super::Timeline), whose calls are those
//! of DevTools: by V8's nodes, with the keys of entries, and with events among them. Its
//! documentation says why that is separate code.

use super::{FrameId, Profile, ProfileFormat, StackId, Stacks};

/// V8's names for time in which no function of a script ran.
const NOTHING: [&str; 3] = ["(root)", "(program)", "(idle)"];

/// Calls further in are not drawn.
const MOST_DEPTH: u32 = 1_000;

/// A sample that is alone holds for this many times the usual distance at most: then the thread was
/// asleep.
const LONGEST_GAP: f64 = 4.0;

/// A function that was on the stack for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChartCall {
    /// The function.
    pub frame: FrameId,
    /// The time at which it was first seen, in nanoseconds since the profile began.
    pub start: f64,
    /// The time for which it was seen, in nanoseconds.
    pub duration: f64,
    /// The number of calls around it.
    pub depth: u32,
}

/// The calls on a thread.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChartTrack {
    /// The thread's name; may be empty.
    pub name: String,
    /// The calls in the order of time; of those that begin together the outermost first.
    pub calls: Vec<ChartCall>,
}

impl Profile {
    /// The calls over time, a track for each thread; none where the profile has no times.
    ///
    /// # Cost
    ///
    /// Proportional to the samples, the stacks and the calls that come of them. Calls
    /// deeper than 1,000 are left out.
    ///
    /// ```
    /// use pinpoint_profile::Profile;
    ///
    /// let profile = Profile::read(br#"{"nodes": [
    ///     {"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1, "columnNumber": -1}, "children": [2]},
    ///     {"id": 2, "callFrame": {"functionName": "parse", "url": "a.js", "lineNumber": 0, "columnNumber": 0}}],
    ///   "startTime": 0, "endTime": 300, "samples": [2, 2, 1], "timeDeltas": [0, 100, 100]}"#)?;
    /// let tracks = profile.flame_chart();
    /// assert_eq!(tracks[0].calls.len(), 1);
    /// assert_eq!(tracks[0].calls[0].duration, 200_000.0);
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn flame_chart(&self) -> Vec<ChartTrack> {
        if self.times.len() != self.samples.len() {
            return Vec::new();
        }
        let drawn = Drawn::from_profile(self);
        let mut by_thread: Vec<Vec<usize>> = vec![Vec::new(); self.threads.len().max(1)];
        for (place, sample) in self.samples.iter().enumerate() {
            if let Some(samples) = by_thread.get_mut(sample.thread.0 as usize) {
                samples.push(place);
            }
        }
        let tracks = by_thread
            .into_iter()
            .enumerate()
            .map(|(thread, mut samples)| {
                samples.sort_by(|a, b| self.times[*a].total_cmp(&self.times[*b]));
                let name = self.threads.get(thread).map(|name| self.names.get(*name));
                ChartTrack {
                    name: name.unwrap_or_default().to_owned(),
                    calls: self.calls_of(&samples, &drawn),
                }
            });
        tracks.filter(|track| !track.calls.is_empty()).collect()
    }

    /// The calls of one thread, whose samples are in the order of time.
    fn calls_of(&self, samples: &[usize], drawn: &Drawn) -> Vec<ChartCall> {
        let mut open = Open {
            calls: Vec::new(),
            at: Vec::new(),
            stack: Stacks::ROOT.0,
        };
        let longest = LONGEST_GAP * self.usual_distance(samples);
        let mut end = f64::NEG_INFINITY;
        for (place, &sample) in samples.iter().enumerate() {
            let start = self.times[sample];
            if start > end {
                open.go_to(Stacks::ROOT.0, end, drawn, self);
            }
            let stack = drawn.stacks[self.samples[sample].stack.0 as usize];
            open.go_to(stack, start, drawn, self);
            let next = samples.get(place + 1).map(|next| self.times[*next]);
            end = match self.holds() {
                true => start + self.samples[sample].weight,
                false => next.map_or(start + longest, |next| next.min(start + longest)),
            };
            // Clocks may be slightly off.
            if let Some(next) = next.filter(|next| end > *next || next - end < 0.01 * longest) {
                end = next;
            }
        }
        open.go_to(Stacks::ROOT.0, end, drawn, self);
        open.calls
    }

    /// Returns true if the weight of a sample is the time for which its stack was seen.
    fn holds(&self) -> bool {
        matches!(
            self.format,
            ProfileFormat::ChromeTrace | ProfileFormat::CpuProfile | ProfileFormat::Speedscope
        )
    }

    /// The median of the distances between samples.
    fn usual_distance(&self, samples: &[usize]) -> f64 {
        let pairs = samples.windows(2);
        let mut distances: Vec<f64> = pairs
            .map(|pair| self.times[pair[1]] - self.times[pair[0]])
            .filter(|distance| *distance > 0.0)
            .collect();
        let middle = distances.len() / 2;
        match distances.is_empty() {
            true => 1.0,
            false => *distances.select_nth_unstable_by(middle, f64::total_cmp).1,
        }
    }
}

/// The drawn part of each stack, and its depth.
struct Drawn {
    /// The stack itself, or its outer part.
    stacks: Vec<u32>,
    depths: Vec<u32>,
}

impl Drawn {
    fn from_profile(profile: &Profile) -> Self {
        let count = profile.stacks.len();
        let (mut stacks, mut depths) = (vec![0; count], vec![0; count]);
        for stack in 1..count {
            let parent = profile.stacks.parents[stack] as usize;
            let frame = profile.stacks.frame(StackId(stack as u32));
            let is_nothing = frame.is_some_and(|frame| NOTHING.contains(&profile.name(frame)));
            // A parent that is not drawn itself is drawn as its outer part.
            let outer = stacks[parent];
            if is_nothing || depths[outer as usize] >= MOST_DEPTH {
                stacks[stack] = outer;
            } else {
                stacks[stack] = stack as u32;
                depths[stack] = depths[outer as usize] + 1;
            }
        }
        Self { stacks, depths }
    }
}

/// The calls so far, and those that have not ended.
struct Open {
    calls: Vec<ChartCall>,
    /// The places of the open ones among the calls, the outermost first.
    at: Vec<usize>,
    stack: u32,
}

impl Open {
    /// Continues with the stack that is seen at this time.
    fn go_to(&mut self, stack: u32, time: f64, drawn: &Drawn, profile: &Profile) {
        let outer = |stack: u32| drawn.stacks[profile.stacks.parents[stack as usize] as usize];
        let (mut old, mut new) = (self.stack, stack);
        let mut begin = Vec::new();
        while old != new {
            let (old_depth, new_depth) = (drawn.depths[old as usize], drawn.depths[new as usize]);
            if old_depth >= new_depth {
                old = outer(old);
            }
            if new_depth >= old_depth {
                begin.push(new);
                new = outer(new);
            }
        }
        let stays = drawn.depths[old as usize] as usize;
        for ended in self.at.drain(stays..) {
            let call = &mut self.calls[ended];
            call.duration = (time - call.start).max(0.0);
        }
        for stack in begin.into_iter().rev() {
            let Some(frame) = profile.stacks.frame(StackId(stack)) else {
                continue;
            };
            self.calls.push(ChartCall {
                frame,
                start: time,
                duration: 0.0,
                depth: self.at.len() as u32,
            });
            self.at.push(self.calls.len() - 1);
        }
        self.stack = stack;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a millisecond each, a stack a line.
    fn chart(stacks: &[&str]) -> Vec<(String, f64, f64, u32)> {
        let mut names: Vec<&str> = stacks.iter().flat_map(|stack| stack.split(';')).collect();
        names.sort_unstable();
        names.dedup();
        let frames: Vec<String> = names
            .iter()
            .map(|name| format!("{{\"name\": \"{name}\"}}"))
            .collect();
        let place = |name: &str| names.iter().position(|it| *it == name).unwrap().to_string();
        let samples: Vec<String> = stacks
            .iter()
            .map(|stack| stack.split(';').map(place).collect::<Vec<_>>().join(","))
            .map(|stack| format!("[{stack}]"))
            .collect();
        let weights = vec!["1"; stacks.len()].join(",");
        let text = format!(
            "{{\"shared\": {{\"frames\": [{}]}}, \"profiles\": [{{\"type\": \"sampled\", \"unit\": \"milliseconds\", \"startValue\": 0, \"samples\": [{}], \"weights\": [{weights}]}}]}}",
            frames.join(","),
            samples.join(",")
        );
        let profile = Profile::read(text.as_bytes()).unwrap();
        let tracks = profile.flame_chart();
        let calls = tracks.iter().flat_map(|track| &track.calls);
        calls
            .map(|call| {
                let name = profile.name(call.frame).to_owned();
                (name, call.start / 1e6, call.duration / 1e6, call.depth)
            })
            .collect()
    }

    fn expected(calls: &[(&str, f64, f64, u32)]) -> Vec<(String, f64, f64, u32)> {
        let owned = |(name, start, duration, depth): &(&str, f64, f64, u32)| {
            ((*name).to_owned(), *start, *duration, *depth)
        };
        calls.iter().map(owned).collect()
    }

    #[test]
    fn what_is_equal_goes_on_and_the_first_difference_ends_all_above() {
        let calls = chart(&["main;a;b", "main;a;b", "main;c;b", "main"]);
        let wanted = [
            ("main", 0.0, 4.0, 0),
            ("a", 0.0, 2.0, 1),
            ("b", 0.0, 2.0, 2),
            ("c", 2.0, 1.0, 1),
            ("b", 2.0, 1.0, 2),
        ];
        assert_eq!(calls, expected(&wanted));
    }

    #[test]
    fn idle_time_is_not_drawn_and_ends_what_was_open() {
        let calls = chart(&["(root);main", "(root);(idle)", "(root);main"]);
        assert_eq!(
            calls,
            expected(&[("main", 0.0, 1.0, 0), ("main", 2.0, 1.0, 0)])
        );
    }

    #[test]
    fn what_is_too_deep_is_left_out() {
        let deep = vec!["f"; 2_000].join(";");
        assert_eq!(chart(&[&deep, &deep]).len(), MOST_DEPTH as usize);
    }

    #[test]
    fn without_times_there_is_nothing() {
        assert!(
            Profile::read(b"main;a 3\n")
                .unwrap()
                .flame_chart()
                .is_empty()
        );
    }

    #[test]
    fn a_thread_that_sleeps_runs_nothing() {
        let sample =
            |time: f64| format!("w 1 {time:.6}: 1000000 cpu-clock:\n\t1 main+0x1 (/w)\n\n");
        let times = [1.000, 1.001, 1.002, 1.003, 2.000, 2.001];
        let text: String = times.into_iter().map(sample).collect();
        let profile = Profile::read(text.as_bytes()).unwrap();
        let tracks = profile.flame_chart();
        let durations: Vec<f64> = tracks[0]
            .calls
            .iter()
            .map(|call| call.duration.round())
            .collect();
        assert_eq!(durations.len(), 2, "{durations:?}");
        assert!((durations[0] - 7e6).abs() < 1e4, "{durations:?}");
    }
}
