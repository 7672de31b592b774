//! The limits of requests and of their senders.
//!
//! Requests and streams are counted here, in the memory of each process, so that a limit costs
//! no query; n processes together allow n times as much. Jobs and runs are counted by the store,
//! for all processes together.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use pinpoint_backends::store::Quota;
use tonic::Status;

use super::reached::{LOOK_AGAIN, reached, too_many_requests};
use crate::config::{Limit, LimitsConfig};
use crate::transport::arriving::Inbox;
use crate::transport::connections::Connections;
use crate::transport::metrics::METRICS;
use crate::transport::sending::Outbox;

/// The keys that a table of rates knows. The one not seen for the longest makes room: no limit on
/// single addresses holds up a sender with that many.
const MOST_KEYS: NonZeroUsize = NonZeroUsize::new(1 << 16).expect("it is not zero");

/// Rows of the audit log about refusals to one user: a program that keeps asking for what it may
/// not have would fill the log, and hold up all changes, whose rows are written one after the
/// other.
const REFUSALS_A_MINUTE: Limit = Limit::new(10);

const MINUTE: Duration = Duration::from_secs(60);

/// The limits of callers, and their use.
#[derive(Debug)]
pub struct Limits {
    config: LimitsConfig,
    addresses: Mutex<Rates<IpAddr>>,
    users: Mutex<Rates<String>>,
    refusals: Mutex<Rates<String>>,
    /// Open streams by user; users without one are left out.
    streams: Mutex<HashMap<String, u32>>,
    inbox: Inbox,
    outbox: Outbox,
    connections: Arc<Connections>,
}

impl Limits {
    /// These limits, with nothing used.
    pub fn new(config: LimitsConfig) -> Self {
        let number = |most: Limit| most.get().map(|most| most.get() as usize);
        let bytes = |most: Limit| number(most).map_or(usize::MAX, |mib| mib << 20);
        Self {
            inbox: Inbox::new(bytes(config.requests_mib)),
            outbox: Outbox::new(bytes(config.answers_mib), config.sending),
            connections: Connections::new(number(config.connections), config.sending),
            config,
            addresses: Mutex::default(),
            users: Mutex::default(),
            refusals: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    pub(crate) fn config(&self) -> &LimitsConfig {
        &self.config
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.config.deadline
    }

    /// The requests that are arriving.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// The answers that are being sent.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// The bytes of requests that have arrived, of those whose answers have not begun.
    pub fn arrived_bytes(&self) -> usize {
        self.inbox.held()
    }

    /// The bytes of answers that wait for clients to take them.
    pub fn waiting_bytes(&self) -> usize {
        self.outbox.waiting()
    }

    /// The connections that clients have open.
    pub fn open_connections(&self) -> usize {
        self.connections.open()
    }

    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    pub(crate) fn quota(&self, user: &str) -> Quota {
        self.config.quota_of(user)
    }

    /// Counts a request from this address.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Status> {
        let most = self.config.address_requests_a_minute;
        let admitted = lock(&self.addresses).admit(network_of(address), most, Instant::now());
        admitted
            .map(drop)
            .map_err(|wait| too_many_requests(&address.to_string(), most, wait))
    }

    /// Counts a request of this user.
    pub(crate) fn user(&self, user: &str) -> Result<(), Status> {
        let most = self.config.requests_of(user);
        let admitted = lock(&self.users).admit(user.to_owned(), most, Instant::now());
        admitted
            .map(drop)
            .map_err(|wait| too_many_requests(user, most, wait))
    }

    /// Returns how many refusals since the last row had none, if this one is to be a row of the
    /// audit log; nothing otherwise.
    pub(crate) fn refusal(&self, user: &str) -> Option<u64> {
        lock(&self.refusals)
            .admit(user.to_owned(), REFUSALS_A_MINUTE, Instant::now())
            .ok()
    }

    /// A place for a stream of this user, or of an anonymous address, until it is dropped.
    pub(crate) fn stream(self: &Arc<Self>, user: &str) -> Result<Stream, Status> {
        let most = self.config.streams_of(user).get();
        let mut streams = lock(&self.streams);
        let open = streams.get(user).copied().unwrap_or_default();
        if let Some(most) = most.filter(|most| open >= most.get()) {
            let message =
                format!("user {user} has reached the limit of {most} open streams; close one");
            return Err(reached("streams", user, &message, LOOK_AGAIN));
        }
        streams.insert(user.to_owned(), open + 1);
        METRICS.streams.inc();
        Ok(Stream {
            limits: self.clone(),
            user: user.to_owned(),
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(LimitsConfig::default())
    }
}

/// A panic leaves a count as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of an open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    limits: Arc<Limits>,
    user: String,
}

impl Drop for Stream {
    fn drop(&mut self) {
        METRICS.streams.dec();
        let mut streams = lock(&self.limits.streams);
        if let Some(open) = streams.get_mut(&self.user) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.user);
            }
        }
    }
}

/// The address itself, or the network of an address of version 6: one machine may use all
/// addresses of its network.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(network.into())
        }
    }
}

/// The rates of events, by their keys: as many at once as a minute may have, and after that as
/// many each minute (the generic cell rate algorithm).
#[derive(Debug)]
struct Rates<K: Hash + Eq>(LruCache<K, Rate>);

#[derive(Debug, Clone, Copy)]
struct Rate {
    /// When all events so far will have had their share of time.
    due: Instant,
    /// Those that were refused since the last one that was not.
    refused: u64,
}

impl<K: Hash + Eq> Default for Rates<K> {
    fn default() -> Self {
        Self(LruCache::new(MOST_KEYS))
    }
}

impl<K: Hash + Eq> Rates<K> {
    /// Counts an event unless it is one too many: then the time to wait is returned. Returns how
    /// many were refused since the last accepted one.
    fn admit(&mut self, key: K, most: Limit, now: Instant) -> Result<u64, Duration> {
        let Some(most) = most.get() else {
            return Ok(0);
        };
        let rate = self.0.get_or_insert_mut(key, || Rate {
            due: now,
            refused: 0,
        });
        let due = rate.due.max(now) + MINUTE / most.get();
        let wait = due.duration_since(now).saturating_sub(MINUTE);
        if !wait.is_zero() {
            rate.refused += 1;
            return Err(wait);
        }
        rate.due = due;
        Ok(std::mem::take(&mut rate.refused))
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn a_minute_has_so_many_events_of_each_key() {
        let mut rates = Rates::default();
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let most = Limit::new(3);
        let mut admit = |key: &'static str, seconds| rates.admit(key, most, at(seconds));
        for _ in 0..3 {
            assert_eq!(admit("a", 0), Ok(0));
        }
        assert_eq!(admit("a", 0), Err(Duration::from_secs(20)));
        assert_eq!(admit("b", 0), Ok(0));
        assert_eq!(admit("a", 15), Err(Duration::from_secs(5)));
        // Refused events are reported once.
        assert_eq!(admit("a", 20), Ok(2));
        assert_eq!(admit("a", 20), Err(Duration::from_secs(20)));
        assert_eq!(admit("a", 40), Ok(1));
        assert_eq!(admit("a", 1000), Ok(0));
        for _ in 0..2 {
            assert_eq!(admit("a", 1000), Ok(0));
        }
        assert!(admit("a", 1000).is_err());
        for _ in 0..10 {
            assert_eq!(rates.admit("a", Limit::NONE, at(1000)), Ok(0));
        }
    }

    #[test]
    fn a_table_of_rates_does_not_grow_without_end() {
        let mut rates = Rates::default();
        let now = Instant::now();
        for key in 0..MOST_KEYS.get() + 10 {
            assert!(rates.admit(key, Limit::new(1), now).is_ok());
        }
        assert_eq!(rates.0.len(), MOST_KEYS.get());
        assert!(rates.admit(MOST_KEYS.get(), Limit::new(1), now).is_err());
    }

    #[test]
    fn a_machine_has_one_limit_for_all_its_addresses() {
        let limits = Limits::new(LimitsConfig {
            address_requests_a_minute: Limit::new(1),
            ..LimitsConfig::none()
        });
        let ask = |address: &str| limits.address(address.parse().unwrap());
        ask("2001:db8:0:1::1").unwrap();
        let refused = ask("2001:db8:0:1::2").unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        ask("2001:db8:0:2::1").unwrap();
        ask("192.0.2.1").unwrap();
        ask("192.0.2.2").unwrap();
        assert!(ask("192.0.2.1").is_err());
    }

    #[test]
    fn a_stream_has_its_place_until_it_ends() {
        let limits = Arc::new(Limits::new(LimitsConfig {
            streams: Limit::new(2),
            ..LimitsConfig::none()
        }));
        let first = limits.stream("ada").unwrap();
        let _second = limits.stream("ada").unwrap();
        let refused = limits.stream("ada").unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let others = limits.stream("bo").unwrap();
        drop((first, others));
        limits.stream("ada").unwrap();
        assert_eq!(lock(&limits.streams).len(), 1);
    }
}
