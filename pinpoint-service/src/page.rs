//! A row of the table of pages: a path outside of RPCs, with its method, the right that it needs,
//! and its handler.

use axum::routing::MethodRouter;
use http::Method;

use crate::api::access::{Access, Right};
use crate::state::Service;

/// A path that is not an RPC.
pub(crate) struct Page {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) handler: fn() -> MethodRouter<Service>,
}

/// A path for those who may see jobs.
pub(crate) const fn seen(path: &'static str, handler: fn() -> MethodRouter<Service>) -> Page {
    given(path, Right::See, handler)
}

/// A path that those with a right may get.
pub(crate) const fn given(
    path: &'static str,
    right: Right,
    handler: fn() -> MethodRouter<Service>,
) -> Page {
    Page {
        method: Method::GET,
        path,
        access: Access::With(right),
        handler,
    }
}

/// A path that everybody may ask for.
pub(crate) const fn open(path: &'static str, handler: fn() -> MethodRouter<Service>) -> Page {
    Page {
        method: Method::GET,
        path,
        access: Access::Anyone,
        handler,
    }
}

/// A path that those with a right may send a form to.
pub(crate) const fn posted(
    path: &'static str,
    right: Right,
    handler: fn() -> MethodRouter<Service>,
) -> Page {
    Page {
        method: Method::POST,
        path,
        access: Access::With(right),
        handler,
    }
}
