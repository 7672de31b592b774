//! Pages in a real browser, which traces itself. Ignored by default, since Chromium is not always
//! installed.

use std::fs;

use serde_json::Value;

use super::{certain, document, explained_until_certain, of_script, world};

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
    let slower = PAGE.replace("\nhashWords(4e6)", "\nhashWords(32e6)");
    let slower = slower.replace("\nsettle(4e6)", "\nsettle(64e6)");
    let world = world("page.html", &[PAGE.into(), slower]);
    let is_profiled = world.path("is-profiled");
    let open = "chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir=\"$data\" --dump-dom \"file://$PWD/page.html\"";
    let script = format!(
        "if test -e {}; then data=$(mktemp -d); {open}; rm -r \"$data\"; fi",
        is_profiled.display()
    );
    let job = of_script(&world, &[&script]);
    fs::write(&is_profiled, "").unwrap();
    let explain = || world.pinpoint(&["explain", "--profiler", "chrome"]);
    let both = [("hashWords", "slower"), ("settle", "slower")];
    let answer = explained_until_certain(explain, &job, &both);
    assert_eq!(answer["functions"][0]["in_diff"]["file"], "page.html");
    let id = answer["job"]["job_id"].as_str().unwrap();
    let loading = document(&world, id, &["--window", "load"]);
    assert_eq!(certain(&loading).first(), Some(&both[0]), "{loading:#}");
    let functions = loading["functions"].as_array().unwrap();
    let is_settled = |it: &Value| it["function"]["name"] == "settle";
    assert!(!functions.iter().any(is_settled), "{loading:#}");
}
