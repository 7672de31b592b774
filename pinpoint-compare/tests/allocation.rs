//! A hot loop that reuses its memory allocates nothing.
#![allow(clippy::unwrap_used)]
#![expect(unsafe_code, reason = "an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pinpoint_compare::*;

thread_local! {
    // The test harness allocates on its own threads.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn reused_scratch_allocates_nothing() {
    let sample = |n: usize, seed: u64| -> Vec<f64> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f64 / 1e3 + 1.0
            })
            .collect()
    };
    let mut scratch = Scratch::new();
    let options = MannWhitneyOptions::default();
    for n in [8, 49, 160, 3000] {
        let (x, y) = (sample(n, 1), sample(n, 2));
        let mut all = || {
            compare_performance_with(&x, &y, Some(0.5), Direction::Unknown, &mut scratch).unwrap();
            compare_pairwise_with(&x, &y, Direction::Unknown, &mut scratch).unwrap();
            compare_functional(&[0.0, 1.0, 1.0], &[1.0; 3], 1.0).unwrap();
            mann_whitney_u_with(&x, &y, &options, &mut scratch).unwrap();
            hodges_lehmann_with(&x, &y, 0.99, &mut scratch).unwrap();
            wilcoxon_with(&x, Some(&y), Alternative::TwoSided, 0.95, &mut scratch).unwrap();
            for method in [Method::Auto, Method::Asymptotic, Method::Pinpoint] {
                ks_2samp_with(&x, &y, method, &mut scratch).unwrap();
            }
        };
        // The first time, memory grows and tables are computed.
        all();
        let before = ALLOCATIONS.get();
        assert!(before > 0, "the counter does not count");
        for _ in 0..3 {
            all();
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "n = {n}");
    }
}
