//! The bots and benchmarks that requests choose among.

use pinpoint_core::bots::{Bot, Workers};

use crate::state::Service;

impl Service {
    /// The bots that take jobs, by name.
    pub(crate) fn usable_bots(&self) -> impl Iterator<Item = Bot<'_>> {
        self.bots.iter().filter(|bot| {
            let is_ours = !matches!(bot.workers, Workers::Swarming(_));
            is_ours && !bot.out_of_resources && bot.repository.is_some()
        })
    }

    /// The benchmarks among which requests choose: those whose command the operator has configured.
    pub(crate) fn benchmark_names(&self) -> impl Iterator<Item = &str> {
        let known = self.bots.benchmarks().iter();
        let known = known.filter(|(_, benchmark)| benchmark.invocation.is_some());
        known.map(|(name, _)| &**name)
    }

    /// The bot under whose name jobs of this one are kept.
    pub(crate) fn configured(&self, name: String) -> String {
        match self.bots.get(&name) {
            Ok(bot) => bot.configured_as.to_owned(),
            Err(_) => name,
        }
    }
}
