//! Time and memory of a piece of work.

#![expect(unsafe_code, reason = "an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The system's allocator, which counts the bytes in use, and the peak. A program that measures
/// makes it its own with `#[global_allocator]`.
pub struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: everything is the system allocator's; in addition only numbers are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The system moves large blocks without copying, so that old and new are
        // never both there.
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        more(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The best time of a few, and the most memory on top of the initial use.
pub fn measure<T>(repetitions: usize, work: impl Fn() -> T) -> (Duration, usize) {
    let mut best = Duration::MAX;
    let mut memory = 0;
    for _ in 0..repetitions {
        let before = IN_USE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let start = Instant::now();
        let result = black_box(work());
        best = best.min(start.elapsed());
        memory = memory.max(PEAK.load(Ordering::Relaxed) - before);
        drop(result);
    }
    (best, memory)
}
