//! Work that this machine can't do for now, through no fault of the job: its disk is full, or a
//! repository can't be fetched.
//!
//! The server gives such work to the next poller, and this machine would poll at once. So it holds
//! back for a while, longer each time, and passes on the work that it gets until then.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::worker::Pauses;

/// Holds this machine back after a failure of its own.
#[derive(Debug, Default)]
pub(crate) struct HoldBack(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    pauses: Pauses,
    /// The end of the pause, and its reason.
    until: Option<(Instant, String)>,
}

impl HoldBack {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts or extends a pause: the machine can't do something.
    pub(crate) fn begin(&self, reason: &str) {
        self.with(|state| {
            let pause = state.pauses.after_trouble();
            state.until = Some((Instant::now() + pause, reason.to_owned()));
        });
    }

    /// Ends the pause: the machine has done something.
    pub(crate) fn end(&self) {
        self.with(|state| *state = State::default());
    }

    /// The reason why the machine holds back, if it does.
    pub(crate) fn reason(&self) -> Option<String> {
        self.with(|state| {
            let until = state.until.as_ref();
            until.and_then(|(until, why)| (Instant::now() < *until).then(|| why.clone()))
        })
    }
}

/// The reason why no machine can do something, once each has tried and all have made enough
/// attempts together.
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
        // The only remaining one, after another has gone.
        assert!(none_can(&machines[..1], &both, 5, 5).is_some());
    }
}
