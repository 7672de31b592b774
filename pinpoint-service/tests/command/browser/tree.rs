//! Chromium's accessibility tree of the list, of the form and of a job: names, roles, live regions,
//! and tables that are tables.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::prepared::{prepare, with_charts};
use super::visitor::Visitor;
use crate::scene::Scene;

/// The roles of pictures.
const PICTURES: [&str; 3] = ["image", "img", "graphics-document"];

/// A node of the accessibility tree.
struct Node {
    role: String,
    name: String,
    properties: BTreeMap<String, Value>,
}

/// All nodes of the page that are not ignored, in the order of the tree.
fn tree(visitor: &mut Visitor) -> Vec<Node> {
    // Folded parts have their place, too.
    visitor.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
    visitor.call("Accessibility.enable", json!({}));
    let tree = visitor.call("Accessibility.getFullAXTree", json!({}));
    visitor.call("Accessibility.disable", json!({}));
    let nodes = tree["nodes"].as_array().unwrap().iter();
    let shown = nodes.filter(|node| node["ignored"] == false);
    let text = |value: &Value| {
        value["value"]
            .as_str()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let node = |node: &Value| {
        let properties = node["properties"].as_array().into_iter().flatten();
        Node {
            role: text(&node["role"]),
            name: text(&node["name"]),
            properties: properties
                .map(|it| {
                    (
                        text(&json!({ "value": it["name"] })),
                        it["value"]["value"].clone(),
                    )
                })
                .collect(),
        }
    };
    shown.map(node).collect()
}

/// The names of the nodes of a role.
fn names<'a>(tree: &'a [Node], role: &str) -> Vec<&'a str> {
    let nodes = tree.iter().filter(|node| node.role == role);
    nodes.map(|node| &*node.name).collect()
}

/// Checks for every page.
#[track_caller]
fn is_sound(tree: &[Node], title: &str) {
    let document = names(tree, "RootWebArea");
    assert_eq!(document, [format!("{title} – Pinpoint")]);
    assert_eq!(names(tree, "main").len(), 1);
    assert_eq!(names(tree, "banner").len(), 1);
    assert!(names(tree, "navigation").contains(&"Pages"));
    let mut level = 0;
    for node in tree {
        let Node { role, name, .. } = node;
        if role == "heading" {
            let next = node.properties["level"].as_i64().unwrap();
            assert!(next <= level + 1, "{name}: {next} after {level}");
            assert!(!name.is_empty());
            level = next;
        }
        // Every focusable element has a name.
        let is_focusable = node.properties.get("focusable") == Some(&json!(true));
        if is_focusable && !["RootWebArea", "main"].contains(&&**role) {
            assert!(!name.is_empty(), "a {role} without a name");
            assert_ne!(role, "generic", "{name}");
        }
        if PICTURES.contains(&&**role) || role == "region" {
            assert!(!name.is_empty(), "a {role} without a name");
        }
        // Nothing interrupts.
        if let Some(live) = node.properties.get("live") {
            assert_eq!(live, "polite", "{role} {name}");
        }
    }
    assert!(level > 0, "a page without a heading");
}

#[tokio::test]
#[ignore = "needs Chromium"]
async fn the_tree_says_what_each_part_is() {
    let scene = Scene::new("");
    let running = scene.serve();
    let prepared = prepare(&scene, &running, with_charts::<200>).await;
    let mut visitor = Visitor::new(&running);

    visitor.go("/?size=25&sort=name");
    let list = tree(&mut visitor);
    is_sound(&list, "Jobs");
    assert!(names(&list, "search").contains(&"Jobs"));
    let heads = names(&list, "columnheader");
    for (head, column) in heads.iter().zip([
        "Name",
        "Benchmark",
        "Bot",
        "Story",
        "Type",
        "Bug",
        "User",
        "Created",
        "Status",
        "Result",
        "Runs",
        "Duration",
        "Actions",
    ]) {
        assert_eq!(*head, column);
    }
    let rows = names(&list, "rowheader");
    assert_eq!(rows.len(), 8, "{rows:?}");
    assert!(rows.iter().any(|name| name.starts_with("Many charts")));
    for field in ["Search", "Benchmark", "Bot", "User"] {
        let roles = ["searchbox", "combobox", "textbox"];
        assert!(
            roles.iter().any(|role| names(&list, role).contains(&field)),
            "{field}"
        );
    }
    // A lost connection is announced in one, new jobs in the other.
    assert_eq!(names(&list, "status").len(), 2);

    visitor.go("/new");
    let form = tree(&mut visitor);
    is_sound(&form, "New job");
    for group in ["Job", "Commits", "Measurement"] {
        assert!(names(&form, "group").contains(&group), "{group}");
    }
    let required = form
        .iter()
        .filter(|node| node.properties.get("required") == Some(&json!(true)));
    let required: Vec<_> = required.map(|node| &*node.name).collect();
    assert_eq!(
        required,
        [
            "Bot (required)",
            "Benchmark (required)",
            "Good commit (required)",
            "Bad commit (required)"
        ]
    );
    assert!(names(&form, "button").contains(&"Start bisection"));
    assert!(names(&form, "status").len() > 1, "the estimate is told");

    visitor.go(&format!("/jobs/{}", prepared.bisection));
    let job = tree(&mut visitor);
    let document = names(&job, "RootWebArea")[0].to_owned();
    is_sound(&job, document.strip_suffix(" – Pinpoint").unwrap());
    let slider = job.iter().find(|node| node.role == "slider").unwrap();
    assert!(slider.name.starts_with("After record"), "{}", slider.name);
    // Pictures have a text, and their numbers are in tables.
    let mut pictures = PICTURES.iter().flat_map(|role| names(&job, role));
    assert!(pictures.next().is_some());
    assert!(names(&job, "columnheader").len() > 3);
    assert!(!names(&job, "rowheader").is_empty());
    // A lost connection is announced in one, changes of the job in the other.
    assert_eq!(names(&job, "status").len(), 2);

    visitor.go(&format!("/jobs/{}", prepared.comparison));
    let job = tree(&mut visitor);
    let runs = names(&job, "link")
        .into_iter()
        .filter(|name| name.starts_with("run "));
    let runs: Vec<_> = runs.collect();
    assert!(runs.len() >= 12, "{runs:?}");
    // Color is not the only mark of a failed run.
    assert!(runs.iter().any(|name| name.contains("failed")), "{runs:?}");
}
