//! The choice of the next bot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use pinpoint_core::SplitMix64;
use pinpoint_core::bots::Swarming as Machines;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};

use super::error::LuciError;
use crate::swarming::Swarming;

/// The time after which the usable bots are asked for again: a job takes hours, and bots come and
/// go.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// The usable bots.
#[derive(Default)]
pub(super) struct Bots {
    /// The last answer, in an order specific to the job, with its time.
    order: Mutex<Option<(Instant, Vec<String>)>>,
    /// Held while the two tasks of a pair are requested, by bot.
    pairing: SyncMutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl Bots {
    /// The turn to request a pair on this bot.
    pub(super) fn pairing(&self, bot: &str) -> Arc<Mutex<()>> {
        let pairing = self.pairing.lock();
        let mut pairing = pairing.unwrap_or_else(PoisonError::into_inner);
        pairing.entry(bot.to_owned()).or_default().clone()
    }

    /// The bot for a run: the named one, or else that of the run's number. Each further try of the
    /// same run goes to another one.
    pub(super) async fn at(
        &self,
        swarming: &Swarming,
        machines: &Machines,
        seed: u64,
        (named, index, attempt): (Option<&str>, u32, usize),
    ) -> Result<String, LuciError> {
        if let (Some(named), 0) = (named, attempt) {
            return Ok(named.into());
        }
        let mut order = self.order.lock().await;
        let is_old = |(asked, _): &(Instant, _)| asked.elapsed() > KNOWN_FOR;
        if order.as_ref().is_none_or(is_old) {
            let mut bots: Vec<String> = { swarming.free_bots(&machines.dimensions).await? }
                .into_iter()
                .map(|bot| bot.bot_id)
                .collect();
            shuffle(&mut bots, seed);
            *order = Some((Instant::now(), bots));
        }
        let bots = order.as_ref().map_or(&[][..], |(_, bots)| bots);
        let bot = choose(bots, named, index as usize, attempt);
        bot.ok_or_else(|| LuciError::NoBots(machines.builder.clone()))
    }

    /// Has the bots asked for again: Swarming refused one of them.
    pub(super) async fn forget(&self) {
        *self.order.lock().await = None;
    }
}

/// The same order for the same bots, in whatever order they were listed.
fn shuffle(bots: &mut Vec<String>, seed: u64) {
    bots.sort();
    bots.dedup();
    SplitMix64::new(seed).shuffle(bots);
}

/// The one after the last that was tried; the named one is not tried again while there are others.
fn choose(bots: &[String], named: Option<&str>, index: usize, attempt: usize) -> Option<String> {
    let others: Vec<_> = bots
        .iter()
        .filter(|bot| Some(bot.as_str()) != named)
        .collect();
    match others.is_empty() {
        true => bots.first().cloned(),
        false => {
            let place = (index + attempt).checked_rem(others.len())?;
            others.get(place).map(|bot| (*bot).clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_order_depends_on_the_seed_alone() {
        let mut one = names(&["c", "a", "b", "d"]);
        let mut other = names(&["b", "d", "a", "c", "a"]);
        shuffle(&mut one, 7);
        shuffle(&mut other, 7);
        assert_eq!(one, other);
        let orders: std::collections::BTreeSet<_> = (0..200)
            .map(|seed| {
                let mut bots = names(&["a", "b", "c"]);
                shuffle(&mut bots, seed);
                bots
            })
            .collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_bot_that_failed_is_not_tried_again() {
        let bots = names(&["a", "b", "c"]);
        let chosen = |named, attempt| choose(&bots, named, 4, attempt).unwrap();
        assert_eq!(
            [0, 1, 2, 3].map(|attempt| chosen(None, attempt)),
            ["b", "c", "a", "b"]
        );
        assert_eq!(
            [1, 2, 3].map(|attempt| chosen(Some("b"), attempt)),
            ["c", "a", "c"]
        );
        let alone = names(&["a"]);
        assert_eq!(choose(&alone, Some("a"), 0, 1).as_deref(), Some("a"));
        assert_eq!(choose(&[], None, 0, 0), None);
    }
}
