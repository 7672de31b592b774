//! The grammar of the subset: assignments of expressions to names.
//!
//! ```text
//! file       = { name "=" expression ( NEWLINE | ";" ) }
//! expression = formatted { "+" formatted }
//! formatted  = atom { "%" atom }
//! atom       = string { string } | integer | name | name "(" expression ")"
//!            | "(" … ")" | "[" … "]" | "{" expression ":" expression … "}"
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fault::Fault;
use super::lexer::{Lexer, Token};
use crate::manifest::Problem;

/// The deepest nesting of brackets. Files in use stay below ten.
const MAX_DEPTH: usize = 100;

/// Reserved words of Python, which can't be names.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// An expression and its offset.
#[derive(Debug)]
pub(super) struct Expression<'a> {
    /// The offset in bytes from the start of the file.
    pub(super) offset: usize,
    /// Its kind.
    pub(super) kind: Kind<'a>,
}

/// Chains are flat, so that nothing recurses deeper than the brackets.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    None,
    Bool(bool),
    Integer(i64),
    String(Cow<'a, str>),
    List(Vec<Expression<'a>>),
    Tuple(Vec<Expression<'a>>),
    Dict(Vec<(Expression<'a>, Expression<'a>)>),
    /// `Var('name')`.
    Var(Box<Expression<'a>>),
    /// `Str('text')`.
    Str(Cow<'a, str>),
    /// `a + b + c`, from left to right.
    Sum(Vec<Expression<'a>>),
    /// `a % b % c`, from left to right.
    Format(Vec<Expression<'a>>),
}

/// Every assignment of a file, by name.
pub(super) fn parse(text: &str) -> Result<BTreeMap<&str, Expression<'_>>, Fault> {
    let mut parser = Parser::new(Lexer::new(text))?;
    let mut assignments = BTreeMap::new();
    loop {
        match parser.token {
            Token::End => return Ok(assignments),
            Token::Newline => parser.advance()?,
            _ => {
                let start = parser.offset;
                let (name, value) = parser.assignment()?;
                if assignments.insert(name, value).is_some() {
                    return Err(Fault::meaning(start, format!("`{name}` is assigned twice")));
                }
            }
        }
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token, and its offset.
    token: Token<'a>,
    offset: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(mut lexer: Lexer<'a>) -> Result<Self, Fault> {
        let (offset, token) = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            offset,
            depth: 0,
        })
    }

    fn advance(&mut self) -> Result<(), Fault> {
        (self.offset, self.token) = self.lexer.next()?;
        Ok(())
    }

    /// Takes the symbol if it is next.
    fn accept(&mut self, symbol: &str) -> Result<bool, Fault> {
        let there = matches!(self.token, Token::Symbol(found) if found == symbol);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// The error for a token that is not allowed here.
    fn unexpected(&self, wanted: &str) -> Fault {
        let found = match &self.token {
            Token::Symbol(
                symbol @ ("==" | "!=" | "<=" | ">=" | "<" | "-" | "*" | "/" | "//" | "**" | "@"
                | "&" | "|" | "^" | "~" | "<<" | ">>" | ":=" | "."),
            ) => return Fault::unsupported(self.offset, format!("the operator `{symbol}`")),
            Token::Name(
                name @ ("if" | "for" | "and" | "or" | "not" | "in" | "is" | "lambda" | "await"
                | "async"),
            ) => {
                return Fault::unsupported(self.offset, format!("an expression with `{name}`"));
            }
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::String(_) => "a string".into(),
            Token::Integer(_) => "a number".into(),
            Token::Newline => "the end of the line".into(),
            Token::End => "the end".into(),
        };
        Fault::syntax(
            self.offset,
            format!("{wanted} is expected here, not {found}"),
        )
    }

    fn assignment(&mut self) -> Result<(&'a str, Expression<'a>), Fault> {
        let start = self.offset;
        let statement = || Fault::unsupported(start, "a statement that does not assign to a name");
        let Token::Name(name) = self.token else {
            return Err(statement());
        };
        self.advance()?;
        if !matches!(self.token, Token::Symbol("=")) {
            return Err(statement());
        }
        if KEYWORDS.contains(&name) {
            return Err(Fault::syntax(
                start,
                format!("`{name}` cannot be assigned to"),
            ));
        }
        self.advance()?;
        let value = self.expression()?;
        match self.token {
            Token::Newline | Token::End => Ok((name, value)),
            Token::Symbol(";") => {
                self.advance()?;
                Ok((name, value))
            }
            Token::Symbol(",") => Err(Fault::unsupported(
                self.offset,
                "a tuple without parentheses",
            )),
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    fn expression(&mut self) -> Result<Expression<'a>, Fault> {
        self.chain("+", Self::formatted, Kind::Sum)
    }

    fn formatted(&mut self) -> Result<Expression<'a>, Fault> {
        self.chain("%", Self::atom, Kind::Format)
    }

    /// One or more operands with the operator between them.
    fn chain(
        &mut self,
        operator: &str,
        operand: fn(&mut Self) -> Result<Expression<'a>, Fault>,
        chained: fn(Vec<Expression<'a>>) -> Kind<'a>,
    ) -> Result<Expression<'a>, Fault> {
        let first = operand(self)?;
        if !matches!(self.token, Token::Symbol(found) if found == operator) {
            return Ok(first);
        }
        let offset = first.offset;
        let mut operands = vec![first];
        while self.accept(operator)? {
            operands.push(operand(self)?);
        }
        Ok(Expression {
            offset,
            kind: chained(operands),
        })
    }

    fn atom(&mut self) -> Result<Expression<'a>, Fault> {
        let offset = self.offset;
        let kind = match &self.token {
            Token::String(_) => Kind::String(self.strings()?),
            Token::Integer(value) => {
                let value = *value;
                self.advance()?;
                Kind::Integer(value)
            }
            Token::Name(name) => {
                let name = *name;
                self.name(name)?
            }
            Token::Symbol("(") => return self.nested(Self::parentheses),
            Token::Symbol("[") => return self.nested(Self::list),
            Token::Symbol("{") => return self.nested(Self::dict),
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Expression { offset, kind })
    }

    /// Adjacent literals are one string.
    fn strings(&mut self) -> Result<Cow<'a, str>, Fault> {
        let mut joined = Cow::Borrowed("");
        while let Token::String(next) = &mut self.token {
            let next = std::mem::take(next);
            if joined.is_empty() {
                joined = next;
            } else {
                joined.to_mut().push_str(&next);
            }
            self.advance()?;
        }
        Ok(joined)
    }

    fn name(&mut self, name: &'a str) -> Result<Kind<'a>, Fault> {
        let start = self.offset;
        match name {
            "None" | "True" | "False" => {
                self.advance()?;
                Ok(match name {
                    "None" => Kind::None,
                    name => Kind::Bool(name == "True"),
                })
            }
            "if" | "for" | "not" | "lambda" | "await" => Err(self.unexpected("a value")),
            _ => {
                self.advance()?;
                if !self.accept("(")? {
                    return Err(Fault::unsupported(start, format!("the variable `{name}`")));
                }
                self.call(start, name)
            }
        }
    }

    /// A call whose opening parenthesis is taken.
    fn call(&mut self, start: usize, function: &str) -> Result<Kind<'a>, Fault> {
        if !matches!(function, "Var" | "Str") {
            return Err(Fault::unsupported(
                start,
                format!("a call of `{function}`, which is neither `Var` nor `Str`,"),
            ));
        }
        let argument = self.deeper(Self::expression)?;
        self.accept(",")?;
        if !self.accept(")")? {
            return Err(self.unexpected(&format!("`)` after the one argument of `{function}`")));
        }
        match (function, argument.kind) {
            ("Str", Kind::String(text)) => Ok(Kind::Str(text)),
            ("Str", _) => Err(Fault::meaning(
                argument.offset,
                "`Str` takes a string literal",
            )),
            (_, kind) => Ok(Kind::Var(Box::new(Expression {
                offset: argument.offset,
                kind,
            }))),
        }
    }

    /// Reads the contents of brackets whose opening one is next.
    fn nested(
        &mut self,
        inside: fn(&mut Self) -> Result<Kind<'a>, Fault>,
    ) -> Result<Expression<'a>, Fault> {
        let offset = self.offset;
        self.advance()?;
        let kind = self.deeper(inside)?;
        Ok(Expression { offset, kind })
    }

    fn deeper<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth == MAX_DEPTH {
            return Err(Fault {
                offset: self.offset,
                problem: Problem::TooLarge {
                    what: "levels of brackets",
                    limit: MAX_DEPTH,
                },
            });
        }
        self.depth += 1;
        let value = inside(self);
        self.depth -= 1;
        value
    }

    /// A value in parentheses, or a tuple.
    fn parentheses(&mut self) -> Result<Kind<'a>, Fault> {
        let (mut items, comma) = self.items(")")?;
        match items.pop() {
            Some(only) if items.is_empty() && !comma => Ok(only.kind),
            last => {
                items.extend(last);
                Ok(Kind::Tuple(items))
            }
        }
    }

    fn list(&mut self) -> Result<Kind<'a>, Fault> {
        Ok(Kind::List(self.items("]")?.0))
    }

    /// Expressions up to the closing bracket, and true if a comma was among them.
    fn items(&mut self, closing: &str) -> Result<(Vec<Expression<'a>>, bool), Fault> {
        let mut items = Vec::new();
        let mut comma = false;
        while !self.accept(closing)? {
            items.push(self.expression()?);
            if self.accept(",")? {
                comma = true;
            } else if !matches!(self.token, Token::Symbol(found) if found == closing) {
                return Err(self.unexpected(&format!("`,` or `{closing}`")));
            }
        }
        Ok((items, comma))
    }

    fn dict(&mut self) -> Result<Kind<'a>, Fault> {
        let mut entries = Vec::new();
        while !self.accept("}")? {
            let key = self.expression()?;
            if !self.accept(":")? {
                return Err(match self.token {
                    Token::Symbol("," | "}") => Fault::unsupported(key.offset, "a set"),
                    _ => self.unexpected("`:`"),
                });
            }
            entries.push((key, self.expression()?));
            if !self.accept(",")? && !matches!(self.token, Token::Symbol("}")) {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        Ok(Kind::Dict(entries))
    }
}

/// The names in a condition, which must be one:
///
/// ```text
/// condition  = conjunct { "or" conjunct }
/// conjunct   = negated { "and" negated }
/// negated    = "not" negated | operand [ ( "==" | "!=" | "in" ) operand ]
/// operand    = name | string { string } | "(" [ condition { "," condition } ] ")"
/// ```
pub(super) fn names_in_condition(text: &str) -> Result<Vec<&str>, Fault> {
    let mut parser = Parser::new(Lexer::of_expression(text))?;
    let mut names = Vec::new();
    parser.condition(&mut names)?;
    match parser.token {
        Token::End => Ok(names),
        _ => Err(parser.unexpected("the end of the condition")),
    }
}

impl<'a> Parser<'a> {
    fn condition(&mut self, names: &mut Vec<&'a str>) -> Result<(), Fault> {
        loop {
            // `not` binds more tightly than `and`, but nothing is evaluated here.
            while matches!(self.token, Token::Name("not")) {
                self.advance()?;
            }
            self.operand(names)?;
            if matches!(self.token, Token::Symbol("==" | "!=") | Token::Name("in")) {
                self.advance()?;
                self.operand(names)?;
            }
            if !matches!(self.token, Token::Name("and" | "or")) {
                return Ok(());
            }
            self.advance()?;
        }
    }

    fn operand(&mut self, names: &mut Vec<&'a str>) -> Result<(), Fault> {
        match self.token {
            Token::Name("True" | "False" | "None") => self.advance(),
            Token::Name(name) if !KEYWORDS.contains(&name) => {
                names.push(name);
                self.advance()
            }
            Token::String(_) => self.strings().map(|_| ()),
            Token::Symbol("(") => {
                self.advance()?;
                self.deeper(|parser| {
                    while !matches!(parser.token, Token::Symbol(")")) {
                        parser.condition(names)?;
                        if !parser.accept(",")? {
                            break;
                        }
                    }
                    Ok(())
                })?;
                if self.accept(")")? {
                    Ok(())
                } else {
                    Err(self.unexpected("`)`"))
                }
            }
            _ => Err(self.unexpected("a name or a string")),
        }
    }
}
