//! The input of a form that was refused: the form has it again when the user comes back, after a
//! sign-in if the session has ended.
//!
//! A form for input names its user in a hidden field. If the answer is an error, its page leads
//! back to the form with the input in the address, as a link to a filled form has it. Without a
//! session the way is longer: the page sends this address to `/sign-in`, the store keeps it with
//! the sign-in under way, and the end of that leads there. No script is needed for it.
//!
//! Why that is safe:
//!
//! - *Nothing is made or changed.* The form is filled in, as by any link to `/new?…`, and a person
//!   sends it, with the token of the session that has begun. A page of another site gains nothing
//!   by it, and can't send it: browsers say where a form comes from.
//! - *Nobody else reads it.* The page of the error goes to the browser that sent the form. The
//!   store gives the address out once and within ten minutes, to the browser with the cookie of
//!   the one that began the sign-in, for the secret `state` that it began with. Where another
//!   user then signs in, or has signed in already, the way leads to the empty form.
//! - *It is bounded* by the longest address that the service reads. What is longer is not kept,
//!   and the page says so.
//! - *It is in no log*: the service logs neither addresses nor bodies. A proxy that logs addresses
//!   has it, as it has those that the form's own script writes.

use axum::body::{HttpBody, to_bytes};
use axum::extract::Request;
use http::Method;
use http::header::CONTENT_TYPE;

use super::view::{FORM_USER, KEY};
use crate::auth::caller::is_same;
use crate::auth::sign_in::{LONGEST_PATH, is_local};

/// The fields that nobody types: they belong to one form, or to one button.
const LEFT_OUT: [&str; 3] = ["form_token", KEY, "do"];

/// The longest body that is read for it: the input, and the other fields.
const LONGEST_BODY: usize = 2 * LONGEST_PATH;

/// The fields of a form that was not carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsent {
    /// The user who was given the form.
    pub(super) user: String,
    query: String,
}

impl Unsent {
    /// The fields in the body of a form for input.
    fn read(body: &[u8]) -> Option<Self> {
        let mut user = None;
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(body) {
            if name == FORM_USER {
                user = Some(value.into_owned());
            } else if !value.is_empty() && !LEFT_OUT.contains(&&*name) {
                query.append_pair(&name, &value);
            }
        }
        let query = query.finish();
        user.map(|user| Self { user, query })
    }

    /// Returns true if this user may see it: the owner of the form, or an unknown user.
    pub(super) fn is_for(&self, user: Option<&str>) -> bool {
        user.is_none_or(|user| is_same(user, &self.user))
    }

    /// The address of a page with its form filled in, unless it is too long.
    pub(super) fn address(&self, page: &str) -> Option<String> {
        let path = page.split('?').next().unwrap_or_default();
        let address = match &*self.query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        is_local(&address).then_some(address)
    }
}

/// Reads the input of a form, and gives the request back as it was; nothing where the form did not
/// arrive.
pub(super) async fn read_form(request: Request) -> Option<(Request, Option<Unsent>)> {
    let kind = request.headers().get(CONTENT_TYPE);
    let is_form = request.method() == Method::POST
        && kind.is_some_and(|kind| {
            let kind = kind.as_bytes();
            kind.starts_with(b"application/x-www-form-urlencoded")
        });
    let length = request.body().size_hint().upper();
    if !is_form || length.is_none_or(|bytes| bytes > LONGEST_BODY as u64) {
        return Some((request, None));
    }
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, LONGEST_BODY).await.ok()?;
    let unsent = Unsent::read(&body);
    Some((Request::from_parts(parts, body.into()), unsent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_kept_and_nothing_else() {
        let read = |body: &str| Unsent::read(body.as_bytes());
        assert_eq!(read("name=a&form_token=t"), None);
        let form = "form_token=t&key=k&form_user=ada%40example.org&name=%C3%BC+%26&story=&do=make";
        let unsent = read(form).unwrap();
        let filled = unsent.address("/new?kind=try&name=old").unwrap();
        assert_eq!(filled, "/new?name=%C3%BC+%26");
        assert!(unsent.is_for(None) && unsent.is_for(Some("Ada@Example.org")));
        assert!(!unsent.is_for(Some("bo@example.org")));
        let nothing = read("form_user=ada").unwrap();
        assert_eq!(nothing.address("/new?kind=try").as_deref(), Some("/new"));
    }

    #[test]
    fn an_address_is_one_of_this_service_and_not_too_long() {
        let of = |length: usize| {
            let body = format!("form_user=ada&name={}", "a".repeat(length));
            Unsent::read(body.as_bytes()).unwrap()
        };
        assert_eq!(of(1).address("//evil.example"), None);
        let longest = LONGEST_PATH - "/new?name=".len();
        assert!(of(longest).address("/new").is_some());
        assert_eq!(of(longest + 1).address("/new"), None);
    }
}
