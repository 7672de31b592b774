//! Repeats the same work, and times each repetition.

#![expect(
    unsafe_code,
    reason = "the standard library has no clock of a thread's processor time"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The processor time that one piece of work is calibrated to.
const PIECE: Duration = Duration::from_millis(10);

/// The times of one piece of work, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub(super) wall: f64,
    /// The time that the thread was on a processor.
    pub(super) processor: f64,
}

/// The fewest pieces: enough for quartiles.
pub(super) const FEWEST: usize = 4;

/// Repeats a piece of work for about this long, but often enough. Nothing else happens in
/// between, so that only the machine makes a difference.
pub(super) fn repeat(rounds: u64, time: Duration) -> Vec<Piece> {
    let began = Instant::now();
    let mut pieces = Vec::new();
    while began.elapsed() < time || pieces.len() < FEWEST {
        let (wall, processor) = (Instant::now(), processor_time());
        work(rounds);
        pieces.push(Piece {
            wall: wall.elapsed().as_secs_f64(),
            processor: (processor_time().saturating_sub(processor)).as_secs_f64(),
        });
    }
    pieces
}

/// The number of rounds that make a piece of work here.
pub(super) fn calibrate() -> u64 {
    let mut rounds = 1 << 10;
    loop {
        let before = processor_time();
        work(rounds);
        let time = processor_time().saturating_sub(before);
        // Long enough for the clock, and for a processor to leave its idle state.
        if time >= PIECE / 2 || rounds >= 1 << 32 {
            let by = PIECE.as_secs_f64() / time.max(Duration::from_nanos(1)).as_secs_f64();
            return ((rounds as f64 * by) as u64).max(1);
        }
        rounds *= 2;
    }
}

/// Integer work that needs no memory. The chains do not depend on each other, so that they keep a
/// core's multipliers busy: work on the core's other thread slows them down.
fn work(rounds: u64) {
    // Opaque to the compiler before and after, and in registers in between: storing and loading at
    // once has its own pace.
    let mut chains = black_box([1_u64, 2, 3, 4]);
    for _ in 0..rounds {
        for chain in &mut chains {
            // The generator of Knuth's MMIX.
            *chain = (chain.wrapping_mul(6_364_136_223_846_793_005))
                .wrapping_add(1_442_695_040_888_963_407);
        }
    }
    black_box(chains);
}

/// The processor time of the thread that calls this.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live value.
    unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
    }
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_in_proportion_to_its_rounds() {
        let pieces = repeat(calibrate(), Duration::ZERO);
        assert_eq!(pieces.len(), FEWEST);
        for piece in pieces {
            assert!(piece.wall > 0.0 && piece.processor > 0.0, "{piece:?}");
        }
        let before = processor_time();
        work(1000);
        let once = processor_time().saturating_sub(before);
        work(100_000);
        let more = processor_time().saturating_sub(before);
        assert!(more > once);
    }
}
