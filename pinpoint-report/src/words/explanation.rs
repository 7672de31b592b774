//! The differences between two builds, in words.

use pinpoint_core::profile::{
    Change, Design, DiffMatchKind, Explanation, Function, FunctionChange, PartChange, ProfileUnit,
    RenameGuess, Verdict,
};

use crate::command_line::quoted;
use crate::quantity::{change, change_and_interval, count, percent_change, quantity};
use crate::text::{name, plain};

/// The whole difference, in the unit and in percent: `+14.20 ms (+11.0 %)`.
pub fn whole(explanation: &Explanation) -> String {
    let whole = &explanation.whole;
    let difference = signed(whole.difference, &explanation.unit);
    let relative = whole.difference / whole.base;
    if relative.is_finite() {
        format!("{difference} ({})", percent_change(relative))
    } else {
        difference
    }
}

/// The number of runs: `10 pairs`, `8 runs a side`.
pub fn runs(explanation: &Explanation) -> String {
    let (base, experiment) = (explanation.base_runs, explanation.experiment_runs);
    match explanation.design {
        Design::Pairs => count(base as u64, "pair"),
        Design::Groups if base == experiment => {
            format!("{} a side", count(base as u64, "run"))
        }
        Design::Groups => format!("{} against {experiment}", count(base as u64, "run")),
    }
}

/// At most this many functions are named in a finding.
const MOST_IN_FINDING: usize = 2;

/// The functions that moved, and their share of the whole difference.
pub fn finding(explanation: &Explanation) -> String {
    let certain: Vec<&FunctionChange> = explanation.certain().collect();
    if certain.is_empty() {
        return "no function is certain".into();
    }
    let named = certain.iter().take(MOST_IN_FINDING);
    let mut named: Vec<String> = named.map(|it| name(&it.function.name)).collect();
    if certain.len() > named.len() {
        named.push("…".into());
    }
    let functions = match certain.len() {
        1 => named.concat(),
        several => format!("{several} functions ({})", named.join(", ")),
    };
    // Including exchanges with others, which are no change in themselves.
    let with_exchanged = |function: &&FunctionChange| match function.verdict {
        Verdict::Moved { with } => {
            let other = explanation.functions.get(with);
            other.is_some_and(FunctionChange::is_certain)
        }
        _ => function.is_certain(),
    };
    let together: Vec<&FunctionChange> = explanation
        .functions
        .iter()
        .filter(with_exchanged)
        .collect();
    match share(&together) {
        Some(share) => format!("{share} of it in {functions}"),
        None => format!("{functions} moved"),
    }
}

/// Their share of the whole difference. Where they cancel out, a share means nothing.
fn share(functions: &[&FunctionChange]) -> Option<String> {
    let shares: Option<f64> = functions.iter().map(|function| function.share).sum();
    shares.filter(|share| (0.0..=1.5).contains(share)).map(part)
}

/// The part of the whole difference outside the certain functions.
pub fn spread(explanation: &Explanation) -> Option<String> {
    let certain = explanation.certain();
    let shares: Option<f64> = certain.map(|function| function.share).sum();
    let left = shares.map(|shares| 1.0 - shares)?;
    (0.005..1.0)
        .contains(&left)
        .then(|| format!("the other {} is spread, no function certain", part(left)))
}

/// A weight of the profile in readable units.
fn in_unit(value: f64, unit: &ProfileUnit) -> (f64, String) {
    match unit {
        ProfileUnit::Nanoseconds => (value / 1e9, "s".into()),
        other => (value, other.to_string()),
    }
}

/// A difference, with its sign and unit.
pub fn signed(value: f64, unit: &ProfileUnit) -> String {
    let (value, unit) = in_unit(value, unit);
    change(value, Some(&unit))
}

/// A value with its unit.
pub fn amount(value: f64, unit: &ProfileUnit) -> String {
    let (value, unit) = in_unit(value, unit);
    quantity(value, Some(&unit))
}

/// A part of something in percent.
pub fn part(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// The estimate of a difference, or that of the means where there are too few runs for one.
pub fn shown(change: &Change) -> f64 {
    change.estimate.unwrap_or(change.difference)
}

/// The shown difference, and its interval in the same unit: `+12.10 ms` and `[+11.40, +12.70]`. The
/// interval is empty without one.
pub fn difference(change: &Change, unit: &ProfileUnit) -> [String; 2] {
    let Some(interval) = change.interval else {
        return [signed(shown(change), unit), String::new()];
    };
    let ends = [interval.low, interval.high].map(|end| in_unit(end, unit).0);
    let (value, unit) = in_unit(shown(change), unit);
    change_and_interval(value, ends, Some(&unit))
}

/// The interval of a difference; empty without one.
pub fn interval(change: &Change, unit: &ProfileUnit) -> String {
    change.interval.map_or_else(String::new, |interval| {
        let [low, high] = [interval.low, interval.high].map(|end| signed(end, unit));
        format!("[{low}, {high}]")
    })
}

/// The place of a function: its package if it is not the program's own, or its file, or at least
/// its module.
pub fn place(function: &Function) -> String {
    let short = |path: &str| {
        let parts: Vec<&str> = path.rsplit(['/', '\\']).take(2).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    };
    let place = match (&function.package, &function.file, function.line) {
        (Some(package), ..) => package.clone(),
        (None, Some(file), Some(line)) => format!("{}:{line}", short(file)),
        (None, Some(file), None) => short(file),
        (None, None, _) => function.module.clone().unwrap_or_default(),
    };
    name(&place)
}

/// The change of a function; absent where it may be chance, and where it only moved.
pub fn verdict(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Slower => Some("more"),
        Verdict::Faster => Some("less"),
        Verdict::CalledMoreOften => Some("called more often"),
        Verdict::CalledLessOften => Some("called less often"),
        Verdict::New => Some("new"),
        Verdict::Gone => Some("gone"),
        _ => None,
    }
}

/// The caller of a function that only one side has, after its verdict.
pub fn caller(function: &FunctionChange) -> String {
    match (&function.verdict, &function.called_by) {
        (Verdict::New | Verdict::Gone, Some(caller)) => format!(", called by {}", name(caller)),
        _ => String::new(),
    }
}

/// The effect of the explained changes on a function.
pub fn in_diff(kind: DiffMatchKind) -> &'static str {
    match kind {
        DiffMatchKind::Lines => "in the diff",
        DiffMatchKind::Name => "named in the diff",
        DiffMatchKind::File => "its file is in the diff",
        _ => "related to the diff",
    }
}

/// The time that moved from one function to another, a sentence for each pair.
pub fn moved(explanation: &Explanation) -> Vec<String> {
    let functions = &explanation.functions;
    let partner = |index: usize| match functions.get(index)?.verdict {
        Verdict::Moved { with } => Some(with),
        _ => None,
    };
    let exchanges_with_several = |index: usize| {
        let partners = (0..functions.len()).filter_map(partner);
        partners.filter(|with| *with == index).count() > 1
    };
    let sentence = |index: usize| {
        let with = partner(index)?;
        // Each pair once.
        if with < index && partner(with) == Some(index) {
            return None;
        }
        let (function, other) = (functions.get(index)?, functions.get(with)?);
        let (from, to) = match function.own.difference < 0.0 {
            true => (function, other),
            false => (other, function),
        };
        // For one that exchanges with several, or that also changed, the other one's part.
        let moved = match (exchanges_with_several(index), exchanges_with_several(with)) {
            _ if partner(with).is_none() => function,
            (true, false) => other,
            (false, true) => function,
            _ => from,
        };
        Some(format!(
            "{} from {} to {}, as inlining does; no change by itself",
            amount(moved.own.difference.abs(), &explanation.unit),
            name(&from.function.name),
            name(&to.function.name)
        ))
    };
    (0..functions.len()).filter_map(sentence).collect()
}

/// At most this many threads or categories are named in a sentence.
const MOST_PARTS: usize = 5;

/// The threads, or the categories, whose difference is certain, in one line: `script +13.0 ms, gc
/// +1.1 ms`. Absent where there is only one, which has all of the difference.
pub fn parts(parts: &[PartChange], unit: &ProfileUnit) -> Option<String> {
    let certain: Vec<&PartChange> = parts.iter().filter(|part| part.is_certain).collect();
    if certain.is_empty() || parts.len() < 2 {
        return None;
    }
    let named = certain.iter().take(MOST_PARTS);
    let each =
        |part: &&PartChange| format!("{} {}", name(&part.name), signed(shown(&part.own), unit));
    let mut sentence = named.map(each).collect::<Vec<_>>().join(", ");
    if certain.len() > MOST_PARTS {
        sentence += &format!(", … {} more", certain.len() - MOST_PARTS);
    }
    Some(sentence)
}

/// The program's own functions that moved along with their foreign callees, in one line. Absent
/// where the certain functions are the program's own, which show it themselves.
pub fn own_code(explanation: &Explanation) -> Option<String> {
    if explanation.certain().all(|it| it.function.owner.is_none()) {
        return None;
    }
    let named = explanation.own_code.iter().take(MOST_PARTS);
    let each = |part: &PartChange| {
        let difference = signed(shown(&part.own), &explanation.unit);
        format!("{} {difference}", name(&part.name))
    };
    let named: Vec<String> = named.map(each).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// A guess that a function has another name, and the two names in the form that settles it,
/// `OLD=NEW`, whole and quoted for a shell.
pub fn renamed(guess: &RenameGuess) -> [String; 2] {
    let (old, new) = (name(&guess.base), name(&guess.experiment));
    let alike = part(guess.alike);
    let names = guess.same.as_ref();
    let (base, experiment) = names.map_or((&guess.base, &guess.experiment), |(a, b)| (a, b));
    [
        format!("{old} is now {new} (callers and callees are {alike} alike)"),
        quoted(&[plain(&format!("{base}={experiment}")).into_owned()]),
    ]
}

/// The reason that these functions are not certain; to be read after "the greatest differences".
pub fn uncertain(explanation: &Explanation, functions: &[&FunctionChange]) -> &'static str {
    if !explanation.exact {
        return "which may be chance";
    }
    let whole = explanation.whole.base.max(explanation.whole.experiment);
    let is_small =
        |function: &&&FunctionChange| function.own.difference.abs() < LEAST_SHARE * whole;
    match functions.iter().filter(is_small).count() {
        0 => "where the runs of the two sides overlap",
        small if small == functions.len() => "smaller than 0.1 %",
        _ => "smaller than 0.1 %, or where the runs of the two sides overlap",
    }
}

/// A smaller difference, as a part of the whole, is never certain.
const LEAST_SHARE: f64 = 0.001;

/// The smallest detectable difference, where no function is certain.
pub fn detectable(explanation: &Explanation) -> Option<String> {
    let detectable = explanation.detectable?;
    let several = detectable.functions > 1;
    let (what, each) = match explanation.design {
        Design::Pairs => ("pair", ""),
        Design::Groups => ("run", " of each side"),
    };
    let needed = count(detectable.runs_needed as u64, what);
    let Some(smallest) = detectable.smallest else {
        let runs = runs(explanation);
        let is_one = explanation.base_runs == 1 && explanation.experiment_runs == 1;
        let are = if is_one { "is" } else { "are" };
        let about = if several {
            format!(" about any one of {} functions", detectable.functions)
        } else {
            String::new()
        };
        return Some(format!(
            "{runs} {are} too few to be certain{about}, however large the difference; record at least {needed}{each}"
        ));
    };
    if smallest <= explanation.whole.base.abs() * ROUNDING {
        return are_equal(explanation).then(|| match explanation.design {
            Design::Pairs => "Both runs of each pair are equal".into(),
            Design::Groups => "All runs are equal".into(),
        });
    }
    let compared = if several {
        format!("any of the {} functions", detectable.functions)
    } else {
        "the one function".into()
    };
    Some(format!(
        "{} or more in {compared} compared would have been seen; {needed}{each} would show half of that",
        amount(smallest, &explanation.unit)
    ))
}

/// Means of equal values differ by no larger part than this.
const ROUNDING: f64 = 1e-12;

fn are_equal(explanation: &Explanation) -> bool {
    let differences = explanation.functions.iter().map(|it| it.own.difference);
    let mut differences = differences.chain([explanation.whole.difference]);
    differences.all(|difference| difference.abs() <= explanation.whole.base.abs() * ROUNDING)
}
