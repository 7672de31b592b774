//! The parser of formulas.

use super::error::{FormulaError, FormulaFault};
use super::functions::{Function, TraceFunction, by_name, nearest_name};
use super::token::{Kind, Token, Tokens};
use super::{Node, Selection};

/// The deepest nesting of calls.
pub(super) const MAX_DEPTH: usize = 64;
/// The longest text, in bytes.
pub(super) const MAX_LENGTH: usize = 100_000;

/// Reads a formula: its tree, and the selections in it, each once.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<Selection>), FormulaError> {
    if text.len() > MAX_LENGTH {
        return Err(FormulaError {
            column: 1,
            fault: FormulaFault::TooLong(MAX_LENGTH),
        });
    }
    let mut parser = Parser {
        tokens: Tokens::new(text),
        selections: Vec::new(),
    };
    let first = parser.tokens.next(true)?;
    let Argument::Traces(node) = parser.argument(first, 0)? else {
        return Err(FormulaError {
            column: 1,
            fault: FormulaFault::Unexpected {
                expected: "a function",
                found: format!("`{text}`"),
            },
        });
    };
    let last = parser.tokens.next(false)?;
    match last.kind {
        Kind::End => Ok((node, parser.selections)),
        _ => Err(unexpected("the end after the last parenthesis", &last)),
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    selections: Vec<Selection>,
}

enum Argument<'a> {
    Traces(Node),
    Text(&'a str),
    Number(f64),
}

impl<'a> Parser<'a> {
    fn argument(&mut self, token: Token<'a>, depth: usize) -> Result<Argument<'a>, FormulaError> {
        match token.kind {
            Kind::Text(text) => Ok(Argument::Text(text)),
            Kind::Number(number) => Ok(Argument::Number(number)),
            Kind::Id(id) => Ok(Argument::Traces(self.select(Selection::Trace(id)))),
            Kind::Name(name) if depth < MAX_DEPTH => {
                Ok(Argument::Traces(self.call(name, token.column, depth)?))
            }
            Kind::Name(_) => Err(FormulaError {
                column: token.column,
                fault: FormulaFault::TooDeep(MAX_DEPTH),
            }),
            _ => Err(unexpected("a function, a text or a number", &token)),
        }
    }

    fn call(&mut self, name: &str, column: usize, depth: usize) -> Result<Node, FormulaError> {
        let Some((name, function)) = by_name(name) else {
            let fault = FormulaFault::Function {
                name: name.to_owned(),
                nearest: nearest_name(name),
            };
            return Err(FormulaError { column, fault });
        };
        let open = self.tokens.next(false)?;
        if open.kind != Kind::Open {
            return Err(unexpected("`(`", &open));
        }
        let arguments = self.arguments(depth)?;
        self.node(name, function, column, arguments)
    }

    /// The arguments up to the closing parenthesis, with their columns.
    fn arguments(&mut self, depth: usize) -> Result<Vec<(usize, Argument<'a>)>, FormulaError> {
        let mut arguments = Vec::new();
        let mut token = self.tokens.next(true)?;
        if token.kind == Kind::Close {
            return Ok(arguments);
        }
        loop {
            let column = token.column;
            arguments.push((column, self.argument(token, depth + 1)?));
            let after = self.tokens.next(false)?;
            match after.kind {
                Kind::Close => return Ok(arguments),
                Kind::Comma => token = self.tokens.next(true)?,
                _ => return Err(unexpected("`,` or `)`", &after)),
            }
        }
    }

    /// The tree of a call whose arguments fit.
    fn node(
        &mut self,
        name: &'static str,
        function: Function,
        column: usize,
        arguments: Vec<(usize, Argument<'a>)>,
    ) -> Result<Node, FormulaError> {
        let mut arguments = arguments.into_iter();
        let given = (arguments.next(), arguments.next(), arguments.next());
        let takes = |takes| {
            let fault = FormulaFault::Arguments {
                function: name,
                takes,
            };
            FormulaError { column, fault }
        };
        match (function, given) {
            (Function::Filter, (Some((at, Argument::Text(text))), None, _)) => {
                let query = text.parse().map_err(|reason| FormulaError {
                    column: at,
                    fault: FormulaFault::Query(reason),
                })?;
                let text = text.to_owned();
                Ok(self.select(Selection::Filter { query, text }))
            }
            (Function::Filter, _) => Err(takes("one query, as text")),
            (Function::Shortcut, (Some((at, Argument::Text(text))), None, _)) => {
                let id = text.parse().map_err(|reason| FormulaError {
                    column: at,
                    fault: FormulaFault::Shortcut(reason),
                })?;
                Ok(self.select(Selection::Shortcut(id)))
            }
            (Function::Shortcut, _) => Err(takes("the name of one shortcut, as text")),
            (
                Function::Trace(TraceFunction::Norm(least)),
                (Some((_, Argument::Traces(of))), least_given, None),
            ) => {
                let least = match least_given {
                    None => least,
                    Some((_, Argument::Number(least))) => least,
                    Some(_) => return Err(takes("traces, and a number")),
                };
                let function = TraceFunction::Norm(least);
                Ok(Node::Trace(function, Box::new(of)))
            }
            (Function::Trace(TraceFunction::Norm(_)), _) => {
                Err(takes("traces, and a number or no more"))
            }
            (Function::Trace(function), (Some((_, Argument::Traces(of))), None, _)) => {
                Ok(Node::Trace(function, Box::new(of)))
            }
            (Function::Fold(function), (Some((_, Argument::Traces(of))), None, _)) => {
                Ok(Node::Fold(function, Box::new(of)))
            }
            (Function::Trace(_) | Function::Fold(_), _) => Err(takes("traces, and nothing else")),
            (
                Function::Ratio,
                (Some((_, Argument::Traces(over))), Some((_, Argument::Traces(under))), None),
            ) => Ok(Node::Ratio(Box::new(over), Box::new(under))),
            (Function::Ratio, _) => Err(takes("two traces")),
        }
    }

    /// The node of a selection. One that was there before is loaded once.
    fn select(&mut self, selection: Selection) -> Node {
        let known = self.selections.iter().position(|it| *it == selection);
        let index = known.unwrap_or(self.selections.len());
        if known.is_none() {
            self.selections.push(selection);
        }
        Node::Select(index)
    }
}

fn unexpected(expected: &'static str, token: &Token<'_>) -> FormulaError {
    let found = match &token.kind {
        Kind::Name(name) => format!("`{name}`"),
        Kind::Text(text) => format!("`\"{text}\"`"),
        Kind::Number(number) => format!("`{number}`"),
        Kind::Open => "`(`".into(),
        Kind::Close => "`)`".into(),
        Kind::Comma => "`,`".into(),
        Kind::Id(id) => format!("`{id}`"),
        Kind::End => "the end".into(),
    };
    FormulaError {
        column: token.column,
        fault: FormulaFault::Unexpected { expected, found },
    }
}
