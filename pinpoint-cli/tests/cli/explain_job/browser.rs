//! Pages in a real browser, which traces itself. Ignored by default, since not everybody
//! has Chromium.

use std::fs;

use super::{document, explained, of_script, world};

const PAGE: &str = "<!doctype html>
<script>
function hashWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 31 + word) % 1000003;
  return total;
}
function parseWords(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 17 + word) % 1000003;
  return total;
}
function settle(count) {
  let total = 0;
  for (let word = 0; word < count; word++) total = (total * 13 + word) % 1000003;
  return total;
}
performance.mark('begin');
parseWords(4e6);
hashWords(4e6);
performance.measure('load', 'begin');
settle(4e6);
</script>
";

#[test]
#[ignore = "needs Chromium"]
fn a_page_is_profiled_as_the_benchmark_opens_it() {
    let slower = PAGE.replace("\nhashWords(4e6)", "\nhashWords(64e6)");
    let slower = slower.replace("\nsettle(4e6)", "\nsettle(128e6)");
    let world = world("page.html", &[PAGE.into(), slower]);
    let is_profiled = world.path("is-profiled");
    let open = "chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=\"$data\" --dump-dom \"file://$PWD/page.html\"";
    let script = format!(
        "if test -e {}; then data=$(mktemp -d); {open}; rm -r \"$data\"; fi",
        is_profiled.display()
    );
    let job = of_script(&world, &[&script]);
    fs::write(&is_profiled, "").unwrap();
    let answer = explained(
        world.pinpoint(&["explain", "--profiler", "chrome"]),
        &job,
        "1",
    );
    let name = |answer: &serde_json::Value, index: usize| {
        let name = answer["functions"][index]["function"]["name"].as_str();
        name.unwrap_or_default().to_owned()
    };
    assert_eq!(name(&answer, 0), "settle", "{answer:#}");
    assert_eq!(answer["functions"][0]["in_diff"]["file"], "page.html");
    assert_eq!(name(&answer, 1), "hashWords", "{answer:#}");
    let id = answer["job"]["job_id"].as_str().unwrap();
    let loading = document(&world, id, &["--window", "load"]);
    assert_eq!(name(&loading, 0), "hashWords", "{loading:#}");
    let functions = loading["functions"].as_array().unwrap();
    assert!(
        (0..functions.len()).all(|index| name(&loading, index) != "settle"),
        "{loading:#}"
    );
}
