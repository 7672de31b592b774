//! What this machine can't do for now, though nothing is wrong with the job: its disk is full, or
//! a repository can't be fetched.
//!
//! The server gives such work to whoever asks next, and this machine would ask at once. So it
//! holds back for a while, longer each time, and hands on what it gets meanwhile.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::worker::Pauses;

/// Whether this machine holds back.
#[derive(Debug, Default)]
pub(crate) struct HoldBack(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    pauses: Pauses,
    /// Until when, and why.
    until: Option<(Instant, String)>,
}

impl HoldBack {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The machine can't do something.
    pub(crate) fn begin(&self, reason: &str) {
        self.with(|state| {
            let pause = state.pauses.after_trouble();
            state.until = Some((Instant::now() + pause, reason.to_owned()));
        });
    }

    /// The machine has done something.
    pub(crate) fn end(&self) {
        self.with(|state| *state = State::default());
    }

    /// Why the machine holds back, if it does.
    pub(crate) fn reason(&self) -> Option<String> {
        self.with(|state| {
            let until = state.until.as_ref();
            until.and_then(|(until, why)| (Instant::now() < *until).then(|| why.clone()))
        })
    }
}

/// Why none of the machines that could do something can, once each has tried and all together
/// have so often.
pub(crate) fn none_can(
    machines: &[String],
    unable: &BTreeMap<String, String>,
    attempts: u32,
    enough: u32,
) -> Option<String> {
    let all_tried = machines.iter().all(|machine| unable.contains_key(machine));
    (attempts >= enough && all_tried).then(|| {
        let reasons: Vec<&str> = unable.values().map(String::as_str).collect();
        format!("no machine can carry it out: {}", reasons.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_holds_back_until_it_has_done_something() {
        let back = HoldBack::default();
        assert_eq!(back.reason(), None);
        back.begin("on rack-1: the disk is full");
        assert_eq!(
            back.reason().as_deref(),
            Some("on rack-1: the disk is full")
        );
        back.end();
        assert_eq!(back.reason(), None);
    }

    #[test]
    fn work_is_given_up_once_every_machine_has_tried() {
        let machines = ["rack-1", "rack-2"].map(str::to_owned);
        let reason = |machine: &str| (machine.to_owned(), format!("on {machine}: full"));
        let one = [reason("rack-1")].into();
        let both = [reason("rack-1"), reason("rack-2")].into();
        // One that is busy may be able to do it.
        assert_eq!(none_can(&machines, &one, 50, 5), None);
        assert_eq!(none_can(&machines, &both, 4, 5), None);
        let told = none_can(&machines, &both, 5, 5).unwrap();
        assert_eq!(
            told,
            "no machine can carry it out: on rack-1: full; on rack-2: full"
        );
        // The only one that is there, after another has gone.
        assert!(none_can(&machines[..1], &both, 5, 5).is_some());
    }
}
