//! Work that would block the runtime.

use crate::error::LocalError;

/// Does work that would block the runtime, and then releases `holds`, even when its future was
/// dropped.
pub(crate) async fn blocking<T, H>(
    holds: H,
    task: impl FnOnce() -> Result<T, LocalError> + Send + 'static,
) -> Result<T, LocalError>
where
    T: Send + 'static,
    H: Send + 'static,
{
    let joined = tokio::task::spawn_blocking(move || {
        let result = task();
        drop(holds);
        result
    })
    .await;
    match joined {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_shut_down) => Err(LocalError::ShutDown),
        },
    }
}
