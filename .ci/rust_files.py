"""Which file of a crate imports which, read from its Rust sources without a compiler.

An import is a path in code or in a `use`. It leads to the file of the deepest module that the path
names; where that only re-exports the name, to the file that the name comes from. Tests, comments
and what macros make are left out.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

# What is not code: comments and literals.
NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|\b[bc]?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|\'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\\'])\'', re.S
)
# That of a `use` ends with the `;` after it.
BRACKET = re.compile(r"[\[({\]);]|\}(?:\s*;)?")
TEST = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
USE = re.compile(r"(?<![\w.])(pub\s+)?use\s+([\w:{$*][^;]*);")
PATH = re.compile(r"(?<![\w:$])(\$?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+)")
DEFINED = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+([A-Za-z_]\w*)")


# Modules, and names in them.
Seen = frozenset[tuple[int, str]]


@dataclass
class Module:
    file: Path
    # Where the files of its modules are.
    folder: Path
    parent: "Module | None" = None
    children: dict[str, "Module"] = field(default_factory=dict)
    # The name here, and the path that it stands for.
    uses: dict[str, list[str]] = field(default_factory=dict)
    globs: list[list[str]] = field(default_factory=list)
    defined: set[str] = field(default_factory=set)
    paths: list[list[str]] = field(default_factory=list)


def end_of_item(text: str, at: int) -> int:
    """Where the item ends that begins at `at`: after its `;`, or its closing brace."""
    depth = 0
    for match in BRACKET.finditer(text, at):
        depth += {"[": 1, "(": 1, "{": 1, ";": 0}.get(match[0][0], -1)
        if depth < 0:
            return match.start()
        if depth == 0 and match[0][0] in ";}":
            return match.end()
    return len(text)


def code_of(source: str) -> str:
    """The source without comments, literals, tests, attributes, and the places that `pub(in …)` names."""
    text = NOISE.sub(" ", source)
    while test := TEST.search(text):
        text = text[: test.start()] + text[end_of_item(text, test.end()) :]
    return re.sub(r"\bpub\s*\([^)]*\)", "pub ", re.sub(r"#!?\[(?:[^\[\]]|\[[^\]]*\])*\]", " ", text))


def flatten(tree: str) -> list[tuple[list[str], str]]:
    """The paths of a `use`, each with the name that it has here."""
    tree = tree.strip()
    if "{" in tree:
        before, inner = tree.split("{", 1)
        parts, depth, start = [], 0, 0
        for at, sign in enumerate(inner := inner[: inner.rindex("}")] + ","):
            depth += (sign == "{") - (sign == "}")
            if sign == "," and depth == 0:
                parts.append(inner[start:at])
                start = at + 1
        return [found for part in parts if part.strip() for found in flatten(before + part.strip())]
    path, _, name = (part.strip() for part in tree.partition(" as "))
    segments = [segment.strip().removeprefix("$") for segment in path.split("::") if segment.strip()]
    if len(segments) > 1 and segments[-1] == "self":
        segments.pop()
    return [(segments, name or segments[-1])]


def read(module: Module, text: str) -> None:
    """Fills a module from its code, and reads the modules in it."""
    while inline := re.search(r"\bmod\s+(\w+)\s*\{", text):
        end = end_of_item(text, inline.start())
        child = module.children.setdefault(inline[1], Module(module.file, module.folder / inline[1], module))
        read(child, text[inline.end() : end].rstrip(" ;\n").removesuffix("}"))
        text = text[: inline.start()] + text[end:]
    for name in re.findall(r"\bmod\s+(\w+)\s*;", text):
        file = module.folder / f"{name}.rs"
        file = file if file.exists() else module.folder / name / "mod.rs"
        module.children[name] = Module(file, module.folder / name, module)
        read(module.children[name], code_of(file.read_text()))
    rest = USE.sub(" ", text)
    module.defined |= set(DEFINED.findall(rest))
    module.paths += [re.split(r"\s*::\s*", path.removeprefix("$")) for path in set(PATH.findall(rest))]
    for public, tree in USE.findall(text):
        for segments, name in flatten(tree):
            if name == "*":
                segments.pop()
                module.globs.append(segments)
            else:
                module.uses[name] = segments
            # A re-export is an import only where the file uses the name, too.
            if not public or re.search(rf"\b{re.escape(name)}\b", rest):
                module.paths.append(segments)


def resolve(module: Module, path: list[str], first: bool = True, seen: Seen = frozenset()) -> Module | None:
    """The module that holds what a path names; none where that is of another crate.

    The name that stands `first` in a path may be of another crate, and `crate` only there. What was
    `seen` is not followed again: re-exports may lead in a circle.
    """
    if not path:
        return module
    head, rest, key = path[0], path[1:], (id(module), path[0])
    if first and head == "crate":
        while module.parent:
            module = module.parent
        return resolve(module, rest, False, seen)
    if head == "super" and module.parent:
        return resolve(module.parent, rest, False, seen)
    if head == "self":
        return resolve(module, rest, False, seen)
    if head in module.children:
        return resolve(module.children[head], rest, False, seen)
    if head in module.uses and key not in seen:
        return resolve(module, module.uses[head] + rest, True, seen | {key})
    if head in module.defined:
        return module
    for glob in module.globs if key not in seen else []:
        found = resolve(module, glob, True, seen | {key})
        if found and found is not module and head in found.children.keys() | found.uses.keys() | found.defined:
            return resolve(found, path, False, seen | {key})
    return None if first else module


def arrows_of(source: Path) -> dict[Path, set[Path]]:
    """Each file of a crate, and the files that it imports."""
    roots = [Module(file, source) for name in ("lib.rs", "main.rs") if (file := source / name).exists()]
    arrows: dict[Path, set[Path]] = {}
    for root in roots:
        read(root, code_of(root.file.read_text()))
    modules = list(roots)
    for module in modules:
        modules += module.children.values()
    for module in modules:
        found = {target.file for path in module.paths if (target := resolve(module, path))}
        arrows.setdefault(module.file, set()).update(found - {module.file})
    return arrows


def circles_of(arrows: dict[Path, set[Path]]) -> list[list[Path]]:
    """The strongly connected components of at least two files, largest first."""
    reached: dict[Path, set[Path]] = {}
    for file in arrows:
        left = [file]
        reached[file] = set()
        while left:
            new = arrows[left.pop()] - reached[file]
            reached[file] |= new
            left += new
    circles = {frozenset(other for other in reached[file] if file in reached[other]) for file in arrows}
    return sorted((sorted(circle) for circle in circles if circle), key=lambda circle: (-len(circle), circle))
