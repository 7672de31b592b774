//! A store that a test fills, for what it shares with the tests of the service.

use pinpoint_backends::store::JobStore;

pub(crate) struct World {
    pub(crate) store: JobStore,
}
