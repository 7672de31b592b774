"""Evaluates DEPS files with Python's own parser and operators.

Reads a JSON list of files from standard input, and writes for each either
{"urls": {path: url}} or {"error": text}. Every literal is formatted with the
variables, as gclient does; then paths and URLs once more, with variables that are
formatted themselves.
"""

import ast
import json
import sys
import warnings

def evaluate(node, variables):
    """The value of a node of the subset; variables is None while reading vars."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and variables is not None:
            return node.value.format(**variables)
        if node.value is None or type(node.value) in (str, int, bool):
            return node.value
    elif isinstance(node, (ast.Tuple, ast.List)):
        items = [evaluate(item, variables) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    elif isinstance(node, ast.Dict):
        result = {}
        for key, value in zip(node.keys, node.values):
            key = evaluate(key, variables)
            if not isinstance(key, str) or key in result:
                raise ValueError("no string, or twice")
            result[key] = evaluate(value, variables)
        return result
    elif isinstance(node, ast.BinOp):
        left, right = evaluate(node.left, variables), evaluate(node.right, variables)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Mod):
            return left % right
    elif isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1:
        if node.func.id == "Str":
            return node.args[0].value + ""
        if node.func.id == "Var":
            name = evaluate(node.args[0], variables)
            return "{" + name + "}" if variables is None else variables[name]
    raise ValueError("outside of the subset")


def check_condition(text):
    """Raises an exception unless the text is a condition of gclient."""
    root = ast.parse(text, mode="eval").body
    allowed = (ast.BoolOp, ast.boolop, ast.Not, ast.UnaryOp, ast.Compare, ast.Eq)
    allowed += (ast.NotEq, ast.In, ast.Name, ast.Load, ast.Constant, ast.Tuple)
    for node in ast.walk(root):
        if not isinstance(node, allowed):
            raise ValueError("outside of the subset")
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise ValueError("a chain of comparisons")
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            raise ValueError("a number")
    if isinstance(root, ast.Tuple):
        raise ValueError("a tuple")


def check_expression(root):
    """Raises an exception unless a node may be one of the subset."""
    allowed = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.Add, ast.Mod)
    allowed += (ast.Call, ast.Name, ast.Load)
    for node in ast.walk(root):
        if not isinstance(node, allowed):
            raise ValueError("outside of the subset")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ValueError("a call of what is not a name")


def urls(text):
    statements = {}
    for statement in ast.parse(text).body:
        (target,) = statement.targets
        if target.id in statements:
            raise ValueError("assigned twice")
        statements[target.id] = statement.value
        check_expression(statement.value)
    written = evaluate(statements["vars"], None) if "vars" in statements else {}
    if not all(isinstance(value, (str, bool)) for value in written.values()):
        raise ValueError("vars")
    formatted = evaluate(statements["vars"], written) if "vars" in statements else {}
    result = {}
    deps = evaluate(statements["deps"], written) if "deps" in statements else {}
    for path, entry in deps.items():
        path = path.format(**formatted)
        if isinstance(entry, dict):
            if not set(entry) <= {"url", "condition"}:
                raise ValueError("an unknown key")
            check_condition(entry.get("condition") or "True")
            entry = entry["url"]
        if entry is None:
            continue
        if path in result:
            raise ValueError("twice")
        result[path] = entry.format(**formatted)
    return result


def answer(text):
    try:
        return {"urls": urls(text)}
    except Exception as error:  # Whatever is wrong, it is wrong.
        return {"error": repr(error)}


warnings.simplefilter("ignore")
json.dump([answer(text) for text in json.load(sys.stdin)], sys.stdout)
