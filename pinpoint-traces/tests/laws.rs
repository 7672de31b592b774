//! Laws on random input: what is printed is read back, scales agree with scale 0, and the order of
//! files makes no difference.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use pinpoint_traces::{
    CommitNumber, MAX_SCALE, Params, Query, Source, TILE_SIZE, Tile, TraceId, coarser_values,
};
use proptest::prelude::*;

fn a_word() -> impl Strategy<Value = String> {
    "[a-c._-]{1,3}"
}

fn params() -> impl Strategy<Value = Params> {
    proptest::collection::btree_map(a_word(), a_word(), 1..5)
        .prop_map(|pairs| Params::new(pairs).unwrap())
}

fn a_condition() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => a_word(),
        2 => a_word().prop_map(|it| format!("!{it}")),
        2 => "[a-c][.]?[*+]?".prop_map(|it| format!("~{it}")),
        1 => "\\^[a-c]\\$?".prop_map(|it| format!("~{it}")),
        1 => "[a-c]&=%+ é\"|x".prop_map(|it| format!("!~{it}")),
        1 => Just("*".to_owned()),
    ]
}

fn conditions() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::vec((a_word(), a_condition()), 0..6)
}

fn encoded(conditions: &[(String, String)]) -> String {
    let escape = |text: &str| -> String { text.bytes().map(|it| format!("%{it:02x}")).collect() };
    let pairs: Vec<String> = conditions
        .iter()
        .map(|(key, condition)| format!("{}={}", escape(key), escape(condition)))
        .collect();
    pairs.join("&")
}

/// The rule in its words, condition by condition.
fn matches_slowly(conditions: &[(String, String)], params: &Params) -> bool {
    let holds = |value: &str, condition: &str| match condition.strip_prefix('~') {
        Some(pattern) => regex::Regex::new(pattern).unwrap().is_match(value),
        None => condition == "*" || condition == value,
    };
    let mut by_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, condition) in conditions {
        by_key.entry(key).or_default().push(condition);
    }
    by_key.iter().all(|(key, conditions)| {
        let (excluded, accepted): (Vec<&str>, Vec<&str>) =
            conditions.iter().partition(|it| it.starts_with('!'));
        let Some(value) = params.get(key) else {
            return accepted.is_empty();
        };
        if excluded.iter().any(|it| holds(value, &it[1..])) {
            return false;
        }
        accepted.is_empty() || accepted.iter().any(|it| holds(value, it))
    })
}

proptest! {
    #[test]
    fn a_printed_id_is_the_same_id(params in params()) {
        let id = TraceId::new(&params).unwrap();
        prop_assert_eq!(&id.as_str().parse::<TraceId>().unwrap(), &id);
        prop_assert_eq!(&id.params(), &params);
        for (key, value) in params.iter() {
            prop_assert_eq!(id.get(key), Some(value));
        }
    }

    #[test]
    fn a_text_is_an_id_only_in_its_canonical_form(text in "[,=a-c]{0,12}") {
        if let Ok(id) = text.parse::<TraceId>() {
            prop_assert_eq!(TraceId::new(&id.params()).unwrap().to_string(), text);
        }
    }

    #[test]
    fn keys_and_values_of_any_text_can_be_written(pairs in proptest::collection::btree_map("\\PC{0,3}", "\\PC{0,3}", 1..4)) {
        if let Ok(params) = Params::new(&pairs) {
            prop_assert_eq!(params.len(), pairs.len());
            let id = TraceId::new(&params).unwrap();
            prop_assert_eq!(&id.as_str().parse::<TraceId>().unwrap(), &id);
        }
    }

    #[test]
    fn a_printed_query_is_the_same_query(conditions in conditions()) {
        let query: Query = encoded(&conditions).parse().unwrap();
        let printed = query.to_string();
        prop_assert_eq!(&printed.parse::<Query>().unwrap(), &query, "{}", printed);
    }

    #[test]
    fn a_query_matches_as_its_conditions_say(conditions in conditions(), params in params()) {
        let query: Query = encoded(&conditions).parse().unwrap();
        let expected = matches_slowly(&conditions, &params);
        prop_assert_eq!(query.matches(&params), expected);
        prop_assert_eq!(query.matches_id(&TraceId::new(&params).unwrap()), expected);
        // As a store decides it: key by key, on sets of values.
        let by_key = query.keys().iter().all(|it| match params.get(it.key()) {
            None => it.accepts_absent(),
            Some(value) => !it.excluded().iter().any(|test| test.passes(value))
                && (it.accepts_absent() || it.accepted().iter().any(|test| test.passes(value))),
        });
        prop_assert_eq!(by_key, expected);
    }

    #[test]
    fn any_text_is_read_as_a_query_or_refused(text in "\\PC{0,20}") {
        if let Ok(query) = text.parse::<Query>() {
            prop_assert_eq!(&query.to_string().parse::<Query>().unwrap(), &query);
        }
    }

    #[test]
    fn a_tile_of_any_scale_holds_the_commits_of_its_finer_tiles(commit in any::<u32>(), scale in 0..=MAX_SCALE) {
        let commit = CommitNumber(commit);
        let tile = Tile::of(commit, scale).unwrap();
        prop_assert!(tile.contains(commit));
        let point = tile.point_of(commit).unwrap();
        prop_assert!(point < TILE_SIZE as usize);
        prop_assert!(tile.commits_of_point(point).unwrap().contains(&commit));
        prop_assert_eq!(tile.number(), (u64::from(commit.0) / (128 * 4_u64.pow(scale.into()))) as u32);
        prop_assert_eq!(Tile::new(tile.number(), scale).unwrap(), tile);
        if let Some(coarser) = tile.coarser() {
            prop_assert_eq!(coarser.number(), tile.number() / 4);
            prop_assert!(coarser.finer().unwrap().contains(&tile));
            prop_assert_eq!(coarser.first(), coarser.finer().unwrap()[0].first());
            prop_assert_eq!(coarser.last(), coarser.finer().unwrap()[3].last());
            prop_assert_eq!(coarser, Tile::of(commit, scale + 1).unwrap());
        }
        if let Some(next) = tile.next() {
            prop_assert_eq!(u64::from(next.first().0), u64::from(tile.last().0) + 1);
        }
    }

    #[test]
    fn a_point_of_any_scale_is_the_last_value_among_its_commits(
        values in proptest::collection::vec(proptest::option::weighted(0.3, -9_i32..9), 0..300),
        scale in 0..=MAX_SCALE,
    ) {
        let values: Vec<f64> = values.into_iter().map(|it| it.map_or(f64::NAN, f64::from)).collect();
        let mut coarse = values.clone();
        for _ in 0..scale {
            coarse = coarser_values(&coarse);
        }
        let direct: Vec<f64> = values
            .chunks(4_usize.pow(scale.into()))
            .map(|it| it.iter().copied().rfind(|it| !it.is_nan()).unwrap_or(f64::NAN))
            .collect();
        let bits = |it: Vec<f64>| it.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(coarse), bits(direct));
    }

    #[test]
    fn the_file_that_wins_does_not_depend_on_the_order(
        mut files in proptest::collection::vec(("(2024/0[12]/0[12]/0[0-2]/|2024/13/01/00/|)[ab]", 0_i64..3), 1..6),
        rotation in 0_usize..6,
    ) {
        files.sort();
        files.dedup();
        let sources: Vec<Source> = files.iter().map(|(path, modified)| Source::new(&**path, *modified)).collect();
        let winner = |sources: &[Source]| {
            sources.iter().cloned().reduce(|kept, it| if it > kept { it } else { kept })
        };
        let first = winner(&sources);
        let mut other = sources.clone();
        other.rotate_left(rotation % sources.len());
        prop_assert_eq!(&winner(&other), &first);
        other.reverse();
        prop_assert_eq!(&winner(&other), &first);
    }
}
