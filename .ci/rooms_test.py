"""Tests of `.ci/rooms`: `python3 .ci/rooms_test.py`."""

import importlib.machinery
import tempfile
import types
import unittest
from pathlib import Path

from rooms_picture import draw, without_implied
from rust_files import arrows_of, circles_of, code_of, flatten

# Its name has no `.py`.
_loader = importlib.machinery.SourceFileLoader("rooms", str(Path(__file__).with_name("rooms")))
rooms = types.ModuleType("rooms")
rooms.__file__ = _loader.path
_loader.exec_module(rooms)


def arrows(**sources: str) -> dict[str, set[str]]:
    """Which file imports which; `a__b` is `a/b.rs`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        for name, text in sources.items():
            file = source / (name.replace("__", "/") + ".rs")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)

        def short(file: Path) -> str:
            return str(file.relative_to(source)).removesuffix(".rs")

        return {short(file): {short(it) for it in imports} for file, imports in arrows_of(source).items()}


class Code(unittest.TestCase):
    def test_comments_literals_and_lifetimes(self) -> None:
        source = """a /* crate::b */ "crate::c" // crate::d
            r#"crate::"e""# 'f' '"' fn g<'h>(i: &'h str, j: &'h str) '\\'' """
        self.assertEqual(code_of(source).split(), "a fn g<'h>(i: &'h str, j: &'h str)".split())

    def test_items_of_tests(self) -> None:
        source = """
            #[cfg(test)] use a::{b, c};
            d;
            #[cfg(all(test, unix))] #[path = "x.rs"] mod tests { fn e() { "}" } }
            #[cfg(test)] mod f;
            #[cfg(unix)] g;"""
        self.assertEqual(code_of(source).split(), ["d;", "g;"])

    def test_trees_of_use(self) -> None:
        self.assertEqual(
            flatten("crate::a::{self, b::{C, D as E}, f::*}"),
            [
                (["crate", "a"], "a"),
                (["crate", "a", "b", "C"], "C"),
                (["crate", "a", "b", "D"], "E"),
                (["crate", "a", "f", "*"], "*"),
            ],
        )


class Arrows(unittest.TestCase):
    def test_modules_are_declared_and_not_imported(self) -> None:
        self.assertEqual(arrows(lib="mod a; pub mod b;", a="", b=""), {"lib": set(), "a": set(), "b": set()})

    def test_paths_in_code_and_in_use(self) -> None:
        found = arrows(lib="mod a; mod b; mod c;", a="use crate::b::B;", b="fn b() -> super::c::C {}", c="struct C;")
        self.assertEqual(found, {"lib": set(), "a": {"b"}, "b": {"c"}, "c": set()})

    def test_modules_in_folders(self) -> None:
        found = arrows(
            lib="mod a; mod d; fn f() { a::b::g() }",
            a__mod="mod b; mod c;",
            a__b="use super::c::C;",
            a__c="use super::super::d::e::E;",
            d="pub mod e;",
            d__e="struct E;",
        )
        self.assertEqual(found["lib"], {"a/b"})
        self.assertEqual(found["a/b"], {"a/c"})
        self.assertEqual(found["a/c"], {"d/e"})

    def test_names_are_followed_through_re_exports(self) -> None:
        found = arrows(
            lib="mod a; mod b; pub use a::{Renamed, Deep};",
            a__mod="mod c; pub use c::Named as Renamed; pub use self::c::*;",
            a__c="struct Named; struct Deep;",
            b="use crate::{Renamed, Deep}; fn f(_: crate::a::Renamed) {}",
        )
        self.assertEqual(found, {"lib": set(), "a/mod": set(), "a/c": set(), "b": {"a/c"}})

    def test_a_re_export_that_is_used_is_an_import(self) -> None:
        found = arrows(lib="mod a; pub use a::A; fn f(_: A) {}", a="struct A;")
        self.assertEqual(found["lib"], {"a"})

    def test_what_a_file_that_only_re_exports_defines_itself(self) -> None:
        found = arrows(lib="mod a; pub use a::A; struct Own;", a="use crate::Own; struct A;")
        self.assertEqual(found, {"lib": set(), "a": {"lib"}})

    def test_modules_in_a_file(self) -> None:
        found = arrows(
            lib="mod a; mod b;",
            a="mod inner { use super::super::b::B; fn f() {} } pub use inner::f;",
            b="fn g() { crate::a::f() } struct B;",
        )
        self.assertEqual(found, {"lib": set(), "a": {"b"}, "b": {"a"}})

    def test_other_crates_visibility_and_cycles_of_names(self) -> None:
        found = arrows(
            lib="mod a; mod b; use std::fmt; pub use other::a as c;",
            a="pub(in crate::b) fn f() { fmt::g(); crate::c::h() } pub use super::b::*;",
            b="pub use super::a::*; fn i() { j::k() }",
        )
        self.assertEqual(found, {"lib": set(), "a": set(), "b": set()})

    def test_circles(self) -> None:
        a, b, c, d = map(Path, "abcd")
        self.assertEqual(circles_of({a: {b}, b: {a, c}, c: {d}, d: set()}), [[a, b]])
        self.assertEqual(circles_of({a: {b}, b: {c}, c: {d}, d: {a}}), [[a, b, c, d]])


class Checks(unittest.TestCase):
    def test_circles_grow_and_shrink(self) -> None:
        def problem(now: list[int], recorded: list[int]) -> str:
            return " ".join(rooms.wrong_circles({"a": now}, {"a": recorded}))

        self.assertEqual(problem([12, 9], [12, 9]), "")
        self.assertIn("new or larger", problem([13], [12]))
        self.assertIn("new or larger", problem([12, 9], [12]))
        self.assertIn("new or larger", problem([12, 12], [20, 9]))
        self.assertIn("--record", problem([11], [12]))
        self.assertIn("--record", problem([], [12]))

    def test_arrows_between_crates(self) -> None:
        house = {name: set(allowed) for name, (allowed, _) in rooms.MAY_IMPORT.items()}
        self.assertEqual(rooms.wrong_arrows(house), [])
        house["pinpoint-core"].add("pinpoint-cli")
        house["pinpoint-new"] = set()
        del house["fake-luci"]
        found = [problem.split()[0] for problem in rooms.wrong_arrows(house)]
        self.assertEqual(found, ["pinpoint-core", "pinpoint-new", "MAY_IMPORT"])

    def test_names_in_a_document(self) -> None:
        def problem(text: str) -> str:
            return " ".join(rooms.wrong_names(text))

        self.assertEqual(problem("`.ci/rooms_test.py` `problem`, `sources/one.rs` `two` and `.ci/rooms_test.py`"), "")
        self.assertIn(".ci/gone.py", problem("`.ci/gone.py`"))
        self.assertIn("no such function", problem("`.ci/rooms_test.py`\n`elsewhere`"))

    def test_floors_and_picture(self) -> None:
        house = {"top": {"middle", "bottom"}, "middle": {"bottom"}, "bottom": set()}
        floors = rooms.floors_of(house)
        self.assertEqual(floors, {"bottom": 0, "middle": 1, "top": 2})
        self.assertEqual(without_implied(house), [("middle", "bottom"), ("top", "middle")])
        self.assertEqual(draw(house, floors, dict.fromkeys(house, "")).count('class="box"'), 3)

    def test_lines_are_rounded_to_one_figure(self) -> None:
        found = [rooms.rounded(it) for it in (7, 149, 150, 9600)]
        self.assertEqual(found, ["7 lines", "100 lines", "200 lines", "10,000 lines"])


if __name__ == "__main__":
    unittest.main()
