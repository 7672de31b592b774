pub(crate) use pinpoint_core::job::{Confirmation, CulpritFinderResult as CulpritDocument};
