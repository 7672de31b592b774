//! Python bindings of Pinpoint.
