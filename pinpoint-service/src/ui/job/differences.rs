//! The differences between two renderings of a page, so that only they are sent.

use std::collections::HashMap;

/// Elements without content.
const VOID: [&str; 6] = ["br", "col", "hr", "img", "input", "wbr"];

/// An element with an id.
#[derive(Debug)]
struct Element<'a> {
    name: &'a str,
    id: &'a str,
    start: usize,
    /// Its text, from the beginning of its tag to its end.
    text: &'a str,
}

/// The HTML `after`, in which each element that has an id and is the same in `before` is empty,
/// with the attribute `data-same`: a page that shows the first can be turned into the second, and
/// keeps equal elements.
///
/// Both are as `maud` writes them: every `<`, `>` and `"` outside of markup is escaped, and every
/// element ends. The cost is linear in their lengths, whatever they contain.
pub(super) fn changes(before: &str, after: &str) -> String {
    let known: HashMap<&str, &str> = elements(before).map(|it| (it.id, it.text)).collect();
    let mut of_after: Vec<Element<'_>> = elements(after).collect();
    // An element comes before those in it.
    of_after.sort_unstable_by_key(|it| it.start);
    let mut text = String::new();
    let mut told = 0;
    for Element {
        name,
        id,
        start,
        text: whole,
    } in of_after
    {
        let is_same = start >= told && known.get(id) == Some(&whole);
        if !is_same {
            continue;
        }
        text.push_str(&after[told..start]);
        text.push_str(&format!("<{name} id=\"{id}\" data-same>"));
        if !VOID.contains(&name) {
            text.push_str(&format!("</{name}>"));
        }
        told = start + whole.len();
    }
    text.push_str(&after[told..]);
    text
}

/// The elements that have ids, each after those in it.
fn elements(html: &str) -> impl Iterator<Item = Element<'_>> {
    let mut place = 0;
    let mut open: Vec<(&str, Option<&str>, usize)> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            let start = place + html.get(place..)?.find('<')?;
            let end = start + html[start..].find('>')? + 1;
            place = end;
            let tag = &html[start + 1..end - 1];
            let ended = match tag.strip_prefix('/') {
                Some(name) => {
                    let at = open.iter().rposition(|(opened, ..)| *opened == name)?;
                    open.drain(at..).next()
                }
                None => {
                    let name = tag.split([' ', '\n', '/']).next().unwrap_or_default();
                    let id = tag.split(" id=\"").nth(1);
                    let id = id.and_then(|rest| rest.split('"').next());
                    let is_whole = tag.ends_with('/') || VOID.contains(&name);
                    if !is_whole {
                        open.push((name, id, start));
                    }
                    is_whole.then_some((name, id, start))
                }
            };
            if let Some((name, Some(id), start)) = ended {
                let text = &html[start..end];
                return Some(Element {
                    name,
                    id,
                    start,
                    text,
                });
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_an_empty_element() {
        let before = r#"<p id="a">1</p><section id="b"><table><tr id="r1"><td>x</td></tr><tr id="r2"></tr></table><input id="at" max="2"></section>"#;
        assert_eq!(
            changes(before, before),
            r#"<p id="a" data-same></p><section id="b" data-same></section>"#
        );
        let after = r#"<p id="a">1</p><section id="b"><table><tr id="r1"><td>y</td></tr><tr id="r2"></tr></table><input id="at" max="2"><b>more</b></section><i></i>"#;
        assert_eq!(
            changes(before, after),
            r#"<p id="a" data-same></p><section id="b"><table><tr id="r1"><td>y</td></tr><tr id="r2" data-same></tr></table><input id="at" data-same><b>more</b></section><i></i>"#
        );
        assert_eq!(changes("", after), after);
        assert_eq!(changes(after, ""), "");
    }

    #[test]
    fn pictures_and_foreign_text_are_no_elements() {
        let picture =
            |x: u8| format!(r#"<svg><path d="M{x} 1"/><g id="g"><rect/></g></svg><br>&lt;p id=""#);
        assert_eq!(
            changes(&picture(1), &picture(2)),
            r#"<svg><path d="M2 1"/><g id="g" data-same></g></svg><br>&lt;p id=""#
        );
        let attribute = r#"<p title="&lt;b id=&quot;x&quot;&gt;" data-id="y" id="z"></p>"#;
        assert_eq!(changes(attribute, attribute), r#"<p id="z" data-same></p>"#);
    }
}
