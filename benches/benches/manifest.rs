//! Reading manifests. The limit for a `DEPS` file of 4,000 lines is 5 ms.
//!
//!     cargo bench -p pinpoint-benches --bench manifest

#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use pinpoint_midpoint::manifest::{CargoLock, Deps, GoMod, Manifest, Submodules};

const LINES: usize = 4_000;

/// A file of at least `LINES` lines, in the proportions of Chromium's: a fifth of it
/// variables, then dependencies, half of them with a condition, a few from CIPD and
/// Google Cloud Storage.
fn deps() -> String {
    let mut file =
        String::from("vars = {\n  'git': 'https://git.example',\n  'checkout_x': False,\n");
    let variables = LINES / 5;
    for index in 0..variables / 4 {
        let _ = write!(
            file,
            "  # Three lines of comment so that\n  # two rolls do not conflict:\n  # {index}.\n  \
             'revision_{index}': '{index:040x}',\n"
        );
    }
    file.push_str("}\n\ndeps = {\n");
    let mut index = 0;
    while file.lines().count() < LINES {
        // Counting lines is slow: a hundred entries at a time.
        for _ in 0..100 {
            let variable = index % (variables / 4);
            let _ = match index % 8 {
                0..3 => write!(
                    file,
                    "  'src/third_party/library_{index}':\n    Var('git') + '/library_{index}.git' + \
                     '@' + Var('revision_{variable}'),\n\n"
                ),
                3..6 => write!(
                    file,
                    "  'src/third_party/library_{index}': {{\n      'url': '{{git}}/library_{index}.git@\
                     {index:040x}',\n      'condition': 'checkout_linux and (checkout_x or not \
                     checkout_win)',\n  }},\n\n"
                ),
                6 => write!(
                    file,
                    "  'src/tools/tool_{index}': {{\n      'packages': [\n          {{\n              \
                     'package': 'tools/tool_{index}/${{{{platform}}}}',\n              'version': \
                     'git_revision:{index:040x}',\n          }},\n      ],\n      'condition': \
                     'host_os == \"linux\"',\n      'dep_type': 'cipd',\n  }},\n\n"
                ),
                _ => write!(
                    file,
                    "  'src/data/data_{index}': {{\n      'dep_type': 'gcs',\n      'bucket': 'data',\n      \
                     'objects': [\n          {{\n              'object_name': '{index:064x}',\n              \
                     'sha256sum': '{index:064x}',\n              'size_bytes': 1000,\n              \
                     'generation': 1737999137081655,\n          }},\n      ],\n  }},\n\n"
                ),
            };
            index += 1;
        }
    }
    file.push_str("}\n\nhooks = [\n  {\n    'name': 'clang',\n    'action': ['python3', 'update.py'],\n  },\n]\n");
    file
}

fn submodules(count: usize) -> (String, BTreeMap<String, String>) {
    let mut file = String::new();
    let mut gitlinks = BTreeMap::new();
    for index in 0..count {
        let _ = write!(
            file,
            "[submodule \"library_{index}\"]\n\tpath = third_party/library_{index}\n\turl = \
             ../library_{index}.git\n"
        );
        gitlinks.insert(
            format!("third_party/library_{index}"),
            format!("{index:040x}"),
        );
    }
    (file, gitlinks)
}

fn cargo_lock(count: usize) -> String {
    let mut file = String::from("version = 4\n");
    for index in 0..count {
        let source = match index % 10 {
            0 => format!("git+https://git.example/crate_{index}?branch=main#{index:040x}"),
            _ => "registry+https://github.com/rust-lang/crates.io-index".into(),
        };
        let _ = write!(
            file,
            "\n[[package]]\nname = \"crate_{index}\"\nversion = \"1.{index}.0\"\nsource = \
             \"{source}\"\ndependencies = [\n \"crate_0\",\n]\n"
        );
    }
    file
}

fn go_mod(count: usize) -> String {
    let mut file = String::from("module example.org/tool\n\ngo 1.22\n\nrequire (\n");
    for index in 0..count {
        let _ = writeln!(
            file,
            "\tgithub.com/team/module_{index} v0.0.0-20240102030405-{index:012x} // indirect"
        );
    }
    file.push_str(")\n");
    file
}

fn reading(c: &mut Criterion) {
    let mut group = c.benchmark_group("read");
    let (gitmodules, gitlinks) = submodules(500);
    let deps = deps();
    assert!((LINES..LINES + 700).contains(&deps.lines().count()));
    let files: [(&dyn Manifest, &str, String, usize); 4] = [
        (&Deps, "deps/4000_lines", deps, 500),
        (&Submodules, "gitmodules/500_submodules", gitmodules, 500),
        (&CargoLock, "cargo_lock/500_packages", cargo_lock(500), 500),
        (&GoMod, "go_mod/500_modules", go_mod(500), 500),
    ];
    for (manifest, name, file, least) in files {
        // The result is checked before it is timed.
        let read = manifest.read(&file, &gitlinks);
        assert!(read.is_ok_and(|dependencies| dependencies.len() >= least));
        group.bench_function(name, |b| {
            b.iter(|| manifest.read(black_box(&file), black_box(&gitlinks)));
        });
    }
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
