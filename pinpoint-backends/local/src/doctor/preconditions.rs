//! Checks that this machine has what runs need.

use crate::error::LocalError;
use crate::process::cpus::CpuList;
use crate::process::machine_lock::{MachineLock, default_machine_dir};

impl CpuList {
    /// Checks that processes can be pinned to all of these processors here.
    ///
    /// # Errors
    ///
    /// When one of them does not exist, or may not be used, or when the system can't pin.
    pub fn check(&self) -> Result<(), LocalError> {
        match self.missing() {
            Ok(None) => Ok(()),
            Ok(Some([missing, available])) => {
                Err(LocalError::NoSuchProcessor { missing, available })
            }
            Err(source) => Err(LocalError::CannotPin { source }),
        }
    }
}

/// Checks that the locks of this machine can be used.
#[doc(hidden)]
pub fn check_machine_dir() -> Result<(), LocalError> {
    MachineLock::open(&default_machine_dir())?;
    Ok(())
}
