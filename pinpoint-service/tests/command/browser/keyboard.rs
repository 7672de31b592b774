//! A job from the sign-in to its result by the keyboard alone. The focused element is highlighted,
//! and the focus goes through the page from its beginning to its end.

use std::fs;

use serde_json::Value;

use super::job::repository;
use super::team::Team;
use super::visitor::Visitor;

/// The focused element, and its style.
const FOCUS: &str = "(() => {
    const it = document.activeElement;
    const style = getComputedStyle(it);
    const { top, left, width, height } = it.getBoundingClientRect();
    const before = document.before;
    document.before = it;
    return {
        what: it.outerHTML.slice(0, 300),
        is_page: it === document.body,
        has_outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
        is_seen: width > 0 && height > 0 && top > -2 && top < innerHeight && left > -2
            && left < innerWidth,
        is_after: !before || before === it
            || (before.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0,
    };
})()";

/// The stops that a page has at most.
const MOST_STOPS: usize = 150;

/// Presses Tab until an element has the focus.
#[track_caller]
fn tab_to(visitor: &mut Visitor, selector: &str) {
    for _ in 0..MOST_STOPS {
        visitor.press("Tab");
        let focus = visitor.evaluate(FOCUS);
        assert_eq!(focus["is_page"], false, "{selector}: the end of the page");
        for right in ["has_outline", "is_seen", "is_after"] {
            assert_eq!(focus[right], true, "{right}: {focus}");
        }
        let is_there = format!("document.activeElement.matches(`{selector}`)");
        if visitor.evaluate(&is_there) == true {
            return;
        }
    }
    panic!("nowhere: {selector}");
}

#[track_caller]
fn write(visitor: &mut Visitor, text: &str) {
    for character in text.chars() {
        visitor.press(&character.to_string());
    }
}

/// Presses a key that leads to another page.
#[track_caller]
fn press_and_leave(visitor: &mut Visitor, key: &str, path: &str) {
    visitor.press(key);
    visitor.wait_for(&format!(
        "location.pathname.startsWith('{path}') && document.readyState === 'complete'"
    ));
}

/// Walks through the whole page, and returns the elements that had the focus.
#[track_caller]
fn walk(visitor: &mut Visitor) -> Vec<String> {
    let mut stops = Vec::new();
    for _ in 0..MOST_STOPS {
        visitor.press("Tab");
        let focus = visitor.evaluate(FOCUS);
        if focus["is_page"] == true {
            break;
        }
        for right in ["has_outline", "is_seen", "is_after"] {
            assert_eq!(focus[right], true, "{right}: {focus}");
        }
        stops.extend(focus["what"].as_str().map(str::to_owned));
    }
    stops
}

#[test]
#[ignore = "needs Chromium, Node.js and oidc-provider"]
fn a_job_is_walked_through_by_the_keyboard_alone() {
    let place = tempfile::tempdir().unwrap();
    let commits = repository(place.path(), 6);
    let url = format!("file://{}", place.path().display());
    let team = Team::new(&format!(
        "[worker]\nbots = ['lab']\nallow_repositories = ['{url}']\n\
         [commits]\nallow_repositories = ['{url}']"
    ));
    let run = "echo time: $(cat time).$(date +%N | cut -c1-3) ms";
    let bots = format!(
        "[bots.lab]\nlocal = true\nrepository = '{url}'\n\
         [benchmarks.parsing]\ncommand = ['sh', '-c', '{run}']\n"
    );
    fs::write(team.scene.directory.path().join("bots.toml"), bots).unwrap();
    let running = team.scene.serve();
    let mut visitor = team.visitor();
    visitor.expect("the server responded with a status of 401");

    visitor.go("/new");
    tab_to(&mut visitor, "main .primary");
    press_and_leave(&mut visitor, "Enter", "/interaction/");
    visitor.wait_for("document.querySelector('[name=login]') !== null");
    // The provider's pages are its own.
    visitor.evaluate("document.querySelector('[name=login]').focus()");
    write(&mut visitor, "ada@example.org");
    visitor.press("Tab");
    write(&mut visitor, "any");
    press_and_leave(&mut visitor, "Enter", "/interaction/");
    visitor
        .wait_for("document.querySelector('[name=login]') === null && document.forms.length > 0");
    visitor.evaluate("document.querySelector('button, [type=submit]').focus()");
    press_and_leave(&mut visitor, "Enter", "/new");

    // The first stop leads past the head of the page.
    visitor.press("Tab");
    assert_eq!(
        visitor.evaluate("document.activeElement.matches('.skip')"),
        true
    );
    visitor.press("Enter");
    // Also after the address says what was typed.
    visitor.wait_for("location.href.includes('?') && location.hash === '#main'");
    visitor.evaluate("document.before = document.querySelector('main')");
    tab_to(&mut visitor, "[name=name]");
    write(&mut visitor, "By hand");
    // Enter makes no job of an incomplete form: it looks up the input.
    visitor.evaluate("document.isTheSame = true");
    visitor.press("Enter");
    visitor.wait_for("!document.isTheSame && document.readyState === 'complete'");
    assert_eq!(visitor.value("name"), "By hand");
    for (name, text) in [
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("good", &*commits[0]),
        ("bad", "HEAD"),
    ] {
        tab_to(&mut visitor, &format!("[name={name}]"));
        write(&mut visitor, text);
    }
    tab_to(&mut visitor, "[value=make]");
    press_and_leave(&mut visitor, "Enter", "/jobs/");
    visitor.shows("#state", "Completed");
    visitor.shows("#answer", &commits[3][..10]);

    let path = visitor.path();
    visitor.go(&path);
    let stops = walk(&mut visitor);
    for reached in ["id=\"at\"", "Copy link", "href=\"/new?from=", "Journal"] {
        let is_there = stops.iter().any(|stop| stop.contains(reached));
        assert!(is_there, "{reached}: {stops:#?}");
    }
    // The past, by the arrows.
    visitor.go(&path);
    tab_to(&mut visitor, "#at");
    visitor.press("ArrowLeft");
    visitor.shows("#past .note", "as it was");
    let focus = visitor.evaluate("document.activeElement.id");
    assert_eq!(focus, Value::from("at"));

    // Back to the list, whose columns are moved by the keyboard, too.
    visitor.go("/?size=25");
    tab_to(&mut visitor, ".columns summary");
    visitor.press("Enter");
    tab_to(
        &mut visitor,
        ".columns a[aria-label='move Name to the right']",
    );
    press_and_leave(&mut visitor, "Enter", "/");
    visitor.wait_for("document.querySelector('thead th').innerText.startsWith('Benchmark')");
    let stops = walk(&mut visitor);
    assert!(
        stops.iter().any(|stop| stop.contains("By hand")),
        "{stops:#?}"
    );
    drop(visitor);
    drop(running);
}
