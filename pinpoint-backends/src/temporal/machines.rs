//! The machines of a bot, according to the workers in the store.

use std::collections::BTreeSet;

use crate::store::WorkerEntry;

/// The machines on which workers serve a bot.
pub(super) fn machines_of<'a>(bot: &str, workers: &'a [WorkerEntry]) -> BTreeSet<&'a str> {
    let serving = there(workers).filter(|worker| worker.bots.iter().any(|name| name == bot));
    serving.map(|worker| &*worker.machine).collect()
}

/// Those of them on which no worker is at work, for any bot.
pub(super) fn free_machines<'a>(bot: &str, workers: &'a [WorkerEntry]) -> BTreeSet<&'a str> {
    let mut machines = machines_of(bot, workers);
    for busy in there(workers).filter(|worker| worker.job.is_some()) {
        machines.remove(&*busy.machine);
    }
    machines
}

fn there(workers: &[WorkerEntry]) -> impl Iterator<Item = &WorkerEntry> {
    workers.iter().filter(|worker| !worker.gone)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_is_free_when_none_of_its_workers_is_at_work() {
        let worker = |machine: &str, bots: &[&str], gone: bool, busy: bool| -> WorkerEntry {
            serde_json::from_value(json!({
                "name": machine, "machine": machine, "bots": bots, "host": null,
                "version": "0.1.0", "started": 0, "seen": 0, "gone": gone,
                "job": busy.then_some("0199f3c1a2b37f0e8d1c2b3a49586776"), "activity": "",
            }))
            .unwrap()
        };
        let workers = [
            worker("rack-1", &["lab"], false, false),
            worker("rack-1", &["desk"], false, true),
            worker("rack-2", &["lab", "desk"], false, false),
            worker("rack-2", &["lab"], false, false),
            // It was at work when it was last seen.
            worker("rack-2", &["lab"], true, true),
            worker("rack-3", &["lab"], true, false),
            worker("rack-4", &["desk"], false, false),
        ];
        let check = |bot, all: &[&'static str], free: &[&'static str]| {
            let found = (machines_of(bot, &workers), free_machines(bot, &workers));
            let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
            assert_eq!(found, (set(all), set(free)), "{bot}");
        };
        check("lab", &["rack-1", "rack-2"], &["rack-2"]);
        check(
            "desk",
            &["rack-1", "rack-2", "rack-4"],
            &["rack-2", "rack-4"],
        );
        check("other", &[], &[]);
    }
}
