//! The memory of this process.

/// Returns free memory to the system where the allocator keeps it, as glibc's does after a load has
/// passed. Takes some milliseconds, in which other threads may wait.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "it is a call of the system's library")
)]
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
