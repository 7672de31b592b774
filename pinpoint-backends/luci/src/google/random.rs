//! Seeds that differ each time.

use ring::rand::{SecureRandom, SystemRandom};

/// A seed that differs each time. Where the system has no randomness it is always 0: jitter is
/// then the same everywhere, and nothing else depends on it.
pub(crate) fn random_seed() -> u64 {
    let mut bytes = [0; 8];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => 0,
    }
}
