//! The interfaces of the published Pinpoint, for clients and links that exist.

pub(crate) mod older_page;
