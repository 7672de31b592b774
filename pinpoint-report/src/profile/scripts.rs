//! The scripts of the page as one.

use std::sync::LazyLock;

/// The modules, each after those that it imports from.
const MODULES: [(&str, &str); 29] = [
    ("numbers", include_str!("scripts/numbers.js")),
    ("flame_graph", include_str!("scripts/flame_graph.js")),
    ("caller_paths", include_str!("scripts/caller_paths.js")),
    ("paths", include_str!("scripts/paths.js")),
    ("all_runs", include_str!("scripts/all_runs.js")),
    ("trees", include_str!("trees.js")),
    ("breadcrumbs", include_str!("scripts/breadcrumbs.js")),
    ("windows", include_str!("scripts/windows.js")),
    ("flame_chart", include_str!("scripts/flame_chart.js")),
    ("chart", include_str!("scripts/chart.js")),
    ("json_members", include_str!("scripts/json_members.js")),
    ("annotations", include_str!("scripts/annotations.js")),
    ("tracks", include_str!("scripts/tracks.js")),
    ("kept_tracks", include_str!("scripts/kept_tracks.js")),
    ("tiles", include_str!("scripts/tiles.js")),
    ("overlays", include_str!("scripts/overlays.js")),
    ("elements", include_str!("scripts/elements.js")),
    ("calls", include_str!("scripts/calls.js")),
    ("calls_view", include_str!("scripts/calls_view.js")),
    ("functions_view", include_str!("scripts/functions_view.js")),
    (
        "flame_graph_view",
        include_str!("scripts/flame_graph_view.js"),
    ),
    ("shapes_view", include_str!("scripts/shapes_view.js")),
    (
        "annotations_view",
        include_str!("scripts/annotations_view.js"),
    ),
    ("tracks_view", include_str!("scripts/tracks_view.js")),
    ("entries_view", include_str!("scripts/entries_view.js")),
    ("minimap_view", include_str!("scripts/minimap_view.js")),
    ("trees_view", include_str!("scripts/trees_view.js")),
    ("timeline_view", include_str!("scripts/timeline_view.js")),
    ("page", include_str!("scripts/page.js")),
];

/// All modules in one script.
pub(super) static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let modules = MODULES.map(|(name, text)| bundled(name, text));
    modules.concat()
});

/// A module as a constant with its exports: names of one are unknown in another. A page is one
/// file, so that its modules cannot be imported by an address.
///
/// Imports are written on one line each, as `import { a, b as c } from "./module.js";`, and
/// exports where they are declared.
fn bundled(name: &str, text: &str) -> String {
    let (mut body, mut exported) = (String::new(), Vec::new());
    let mut is_in_template = false;
    for line in text.lines() {
        // A comment, unless it is text of a template literal.
        if !is_in_template && line.trim_start().starts_with("//") {
            continue;
        }
        is_in_template ^= line.matches('`').count() % 2 == 1;
        let imported = line.strip_prefix("import {");
        if let Some((names, path)) = imported.and_then(|it| it.split_once("} from \"")) {
            let (names, path) = (names.replace(" as ", ": "), path.trim_end_matches(".js\";"));
            let from = path.rsplit('/').next().unwrap_or(path);
            body += &format!("const {{{names}}} = {from};\n");
            continue;
        }
        let declared = line.strip_prefix("export ");
        if let Some(declared) = declared {
            let words = declared.split([' ', '(', '=', '*']);
            let mut names = words
                .filter(|word| !matches!(*word, "" | "async" | "function" | "class" | "const"));
            exported.extend(names.next());
        }
        body.push_str(declared.unwrap_or(line));
        body.push('\n');
    }
    let exported = exported.join(", ");
    format!("const {name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n")
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    fn node(arguments: &[&str]) {
        node_with(arguments, "");
    }

    /// Runs Node.js in the folder of the scripts, with this input.
    #[expect(clippy::disallowed_methods, reason = "a test waits on its own thread")]
    pub(in super::super) fn node_with(arguments: &[&str], input: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/profile/scripts");
        let mut command = Command::new("node");
        command.args(arguments).current_dir(folder);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = pipes.stderr(Stdio::piped()).spawn();
        let mut child = child.expect("Node.js runs these tests: apt-get install nodejs");
        let written = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        assert!(written.is_ok() || !output.status.success());
        let said = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{complaint}");
    }

    #[test]
    fn scripts_pass_their_tests_in_node() {
        node(&["--test"]);
    }

    #[test]
    fn a_module_keeps_its_names_and_gives_what_it_exports() {
        let first = "// A comment.\nconst hidden = 2;\nexport function double(it) {\n  return hidden * it;\n}\nexport class Box {}\n";
        let second = "import { double as twice, Box } from \"./first.js\";\nconst hidden = twice(4);\nif (hidden !== 8 || !new Box()) throw new Error(String(hidden));\n";
        node(&[
            "-e",
            &(bundled("first", first) + &bundled("second", second)),
        ]);
    }

    #[test]
    fn comments_are_left_out_and_text_that_looks_like_one_is_not() {
        let module = "// A comment.\nexport const text = `\n// kept\n`;\n// Another, `quoted`.\n";
        let check = "if (text.text !== \"\\n// kept\\n\") throw new Error(text.text);\n";
        let script = bundled("text", module);
        assert!(
            !script.contains("omment") && !script.contains("Another"),
            "{script}"
        );
        node(&["-e", &(script + check)]);
    }

    #[test]
    fn every_template_literal_ends() {
        for (name, text) in MODULES {
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let quotes: usize = code.map(|line| line.matches('`').count()).sum();
            assert!(quotes.is_multiple_of(2), "{name} has an odd backquote");
        }
    }

    #[test]
    fn the_script_of_the_page_is_one_that_node_can_read() {
        // A syntax error would be found before anything runs; there is no document here.
        let quoted = serde_json::to_string(&*SCRIPT).unwrap();
        node(&["-e", &format!("new Function({quoted})")]);
        assert!(!SCRIPT.contains("</script"));
        assert!(!SCRIPT.contains("import ") && !SCRIPT.contains("\nexport "));
    }
}
