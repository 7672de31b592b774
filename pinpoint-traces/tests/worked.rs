//! The worked examples of ids, tiles, queries, sources and shortcuts, and what is refused.

#![allow(clippy::unwrap_used)]

use pinpoint_traces::{
    Columns, CommitNumber, Dataset, Frame, FrameError, IdError, ParamSet, Params, Pattern, Query,
    Shortcut, ShortcutId, Source, Tile, TraceHash, TraceId, TraceName, from_exchange, to_exchange,
    unknown_names,
};

fn id(text: &str) -> TraceId {
    text.parse().unwrap()
}

#[test]
fn an_id_is_written_with_what_it_may_hold() {
    let params = Params::new([("config", "8888"), ("ar ch", "x86/é"), ("", "")]).unwrap();
    assert_eq!(
        TraceId::new(&params).unwrap().as_str(),
        ",_=_,ar_ch=x86__,config=8888,"
    );
    let error = Params::new([("a b", "1"), ("c", "2"), ("a_b", "3")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the keys `a b` and `a_b` are both written `a_b`"
    );
    assert_eq!(TraceId::new(&Params::default()), Err(IdError::NoKey));
}

#[test]
fn an_id_is_read_in_its_canonical_form_alone() {
    for (text, message) in [
        ("", "column 1: expected `,` at the beginning"),
        (",", "a trace needs at least one key"),
        (",,", "column 2: expected a key, `=` and a value"),
        ("arch=x86,", "column 1: expected `,` at the beginning"),
        (",arch=x86", "column 10: expected `,` at the end"),
        (",arch,", "column 2: expected a key, `=` and a value"),
        (
            ",b=1,a=1,",
            "column 6: expected a key after the one before it, in ascending order",
        ),
        (
            ",a=1,a=2,",
            "column 6: expected a key after the one before it, in ascending order",
        ),
        (",a=1,,b=1,", "column 6: expected a key, `=` and a value"),
        (",a=,", "column 4: expected at least one character"),
        (",=1,", "column 2: expected at least one character"),
        (",a=é1,", "column 4: expected one of `a-zA-Z0-9._-`"),
        (",a=1=2,", "column 5: expected one of `a-zA-Z0-9._-`"),
        (",a=1, b=2,", "column 6: expected one of `a-zA-Z0-9._-`"),
    ] {
        let error = text.parse::<TraceId>().expect_err(text).to_string();
        assert!(error.ends_with(message), "{text}: {error}");
    }
}

/// Computed with `printf ',arch=x86,config=8888,' | md5sum`.
#[test]
fn the_short_form_is_the_md5_of_the_text() {
    let hash = id(",arch=x86,config=8888,").trace_hash();
    assert_eq!(hash.to_string(), "fe385b159ff55dca481069805e5ff050");
    assert_eq!(hash.to_string().parse::<TraceHash>(), Ok(hash));
    assert!("xyz".parse::<TraceHash>().is_err());
}

/// Computed with `printf ',a=1,,b=2,@ave(filter(""))' | md5sum`.
#[test]
fn a_shortcut_is_named_after_its_sorted_ids() {
    let names = ["@ave(filter(\"\"))", ",b=2,", ",a=1,", ",b=2,"]
        .map(|it| it.parse::<TraceName>().unwrap());
    let shortcut = Shortcut::new(names).unwrap();
    assert_eq!(shortcut.id().as_str(), "X8d62797b1fa4d72cbdf70a1ba7c60406");
    assert_eq!(shortcut.iter().count(), 3);
    assert_eq!(
        shortcut.id().as_str().parse::<ShortcutId>(),
        Ok(shortcut.id())
    );
    let json = serde_json::to_string(&shortcut).unwrap();
    assert_eq!(serde_json::from_str::<Shortcut>(&json).unwrap(), shortcut);
    assert!(Shortcut::new([]).is_err());
    assert!(Shortcut::new(["!norm(,a=1,)".parse().unwrap()]).is_err());
    for text in [
        "",
        "X",
        "X12",
        "x0123456789abcdef0123456789abcdef",
        "X0123456789ABCDEF0123456789ABCDEF",
    ] {
        assert!(text.parse::<ShortcutId>().is_err(), "{text}");
    }
}

#[test]
fn old_ids_take_the_names_given_in_order() {
    let keys = ["arch", "os", "test", "config"];
    let read = TraceId::from_old("x86:Win7:gradient:8888", &keys).unwrap();
    assert_eq!(
        read.as_str(),
        ",arch=x86,config=8888,os=Win7,test=gradient,"
    );
    let error = TraceId::from_old("x86:Win7", &keys)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "the old trace id `x86:Win7` has 2 parts, but 4 keys are named for them"
    );
    assert!(TraceId::from_old("a:b", &["k", "k"]).is_err());
}

#[test]
fn names_of_rows_are_told_by_their_first_character() {
    assert_eq!(
        ",a=1,".parse::<TraceName>().unwrap().stored(),
        Some(&id(",a=1,"))
    );
    for text in ["!norm(,a=1,)", "@ave(filter(\"a=1\"))"] {
        let name: TraceName = text.parse().unwrap();
        assert_eq!((name.stored(), name.to_string()), (None, text.to_owned()));
        assert_eq!(name.expression(), &text[1..]);
    }
    for text in ["", "!", "@", "norm(,a=1,)", "é"] {
        assert!(text.parse::<TraceName>().is_err(), "{text}");
    }
}

#[test]
fn commits_are_numbers_or_positions() {
    assert_eq!("CP:727901".parse(), Ok(CommitNumber(727_901)));
    assert_eq!("0".parse(), Ok(CommitNumber(0)));
    assert_eq!("4294967295".parse(), Ok(CommitNumber(u32::MAX)));
    for text in [
        "",
        "CP:",
        "-1",
        "+1",
        "1.0",
        "4294967296",
        "cp:1",
        "CP:CP:1",
    ] {
        assert!(text.parse::<CommitNumber>().is_err(), "{text}");
    }
}

#[test]
fn tiles_have_128_points_and_zoom_by_four() {
    let tile = |number, scale| Tile::new(number, scale).unwrap();
    assert_eq!(CommitNumber(127).tile(), tile(0, 0));
    assert_eq!(CommitNumber(128).tile(), tile(1, 0));
    assert_eq!(tile(3, 0).commits(), CommitNumber(384)..=CommitNumber(511));
    assert_eq!(
        tile(1, 2).commits(),
        CommitNumber(2048)..=CommitNumber(4095)
    );
    assert_eq!(tile(7, 1).coarser(), Some(tile(1, 2)));
    assert_eq!(tile(1, 2).finer(), Some([4, 5, 6, 7].map(|it| tile(it, 1))));
    assert_eq!((tile(9, 5).coarser(), tile(9, 0).finer()), (None, None));
    // Every 16th commit at scale 2.
    assert_eq!(tile(0, 2).commits_per_point(), 16);
    assert_eq!(
        tile(0, 2).commits_of_point(1),
        Some(CommitNumber(16)..=CommitNumber(31))
    );
    assert_eq!(tile(0, 2).commits_of_point(128), None);
    assert_eq!(tile(1, 0).point_of(CommitNumber(5)), None);
    let covering: Vec<Tile> = Tile::covering(CommitNumber(100)..=CommitNumber(300), 0)
        .unwrap()
        .collect();
    assert_eq!(covering, [0, 1, 2].map(|it| tile(it, 0)));
    let (start, end) = (CommitNumber(5), CommitNumber(4));
    assert_eq!(Tile::covering(start..=end, 0).unwrap().count(), 0);
    assert!(Tile::new(0, 6).is_err() && Tile::of(CommitNumber(0), 6).is_err());
    let last = CommitNumber(u32::MAX).tile();
    assert_eq!(Tile::new(last.number(), 0), Ok(last));
    assert!(Tile::new(last.number() + 1, 0).is_err() && last.next().is_none());
    let json = serde_json::to_string(&tile(7, 1)).unwrap();
    assert_eq!(serde_json::from_str::<Tile>(&json).unwrap(), tile(7, 1));
    assert!(serde_json::from_str::<Tile>(r#"{"number":1,"scale":9}"#).is_err());
}

#[test]
fn datasets_have_small_names() {
    for text in ["nano", "a-b_9"] {
        assert_eq!(text.parse::<Dataset>().unwrap().as_str(), text);
    }
    for text in ["", "Nano", "a b", "ä", "a/b", "..", &"x".repeat(101)] {
        assert!(text.parse::<Dataset>().is_err(), "{text}");
    }
}

#[test]
fn the_hour_of_a_path_decides_before_the_modification_time() {
    let source = |path: &str, modified| Source::new(path, modified);
    let by_hour = source("a/2024/05/06/07/x.json", 9_999_999_999_999);
    assert_eq!(by_hour.time(), 1_714_978_800_000);
    assert!(source("a/2024/05/06/08/x.json", 0) > by_hour);
    assert!(source("b.json", 1_714_978_800_001) > by_hour);
    assert!(source("b.json", 5) > source("a.json", 5));
    assert!(source("a.json", 6) > source("b.json", 5));
    assert!(source("a.json", 6) > source("a.json", 5));
    assert_eq!(source("1970/01/01/00/x", 7).time(), 0);
    assert_eq!(source("1600/03/01/00/x", 7).time(), -11_670_912_000_000);
    assert_eq!(source("2000/02/29/00/x", 7).time(), 951_782_400_000);
    for path in [
        "1900/02/29/00/x",
        "2024/00/01/00/x",
        "2024/04/31/00/x",
        "2024/04/30/24/x",
        "24/04/30/23/x",
        "2024/4/30/23/x",
    ] {
        assert_eq!(source(path, 7).time(), 7, "{path}");
    }
}

fn matches(query: &str, trace: &str) -> bool {
    query.parse::<Query>().unwrap().matches_id(&id(trace))
}

#[test]
fn conditions_of_a_key_are_alternatives_and_keys_must_all_hold() {
    let query = "config=8888&arch=~^x&os=!Win7";
    assert!(matches(query, ",arch=x86,config=8888,os=Linux,"));
    assert!(matches(query, ",arch=x86,config=8888,"));
    assert!(!matches(query, ",arch=x86,config=8888,os=Win7,"));
    assert!(!matches(query, ",arch=arm,config=8888,os=Linux,"));
    assert!(!matches(query, ",arch=x86,os=Linux,"));
    assert!(matches("os=a&os=b", ",os=b,") && !matches("os=a&os=b", ",os=c,"));
    assert!(matches("os=*", ",os=b,") && !matches("os=*", ",arch=b,"));
    assert!(matches("", ",os=b,"));
    // Exclusions go first.
    assert!(!matches("os=b&os=!b", ",os=b,") && !matches("os=*&os=!~^b", ",os=b,"));
    assert!(matches("os=!a&os=!~c", ",os=b,") && matches("os=!a&os=!~c", ",arch=c,"));
    assert!(!matches("os=!a&os=!~c", ",os=xcx,"));
    // An escape is one character, and `+` a space.
    assert!(matches("os=%7Eb%2B", ",os=bb,"));
    assert_eq!("a=x+y".parse::<Query>().unwrap().to_string(), "a=x%20y");
}

#[test]
fn a_query_that_cannot_be_read_says_why() {
    for (text, message) in [
        ("config", "`config` in the query has no condition"),
        ("=8888", "`=8888` in the query has no key"),
        ("config=", "the query's condition on `config` has no value"),
        ("config=!", "the query's condition on `config` has no value"),
        ("config=!*", "the query excludes each value of `config`"),
        (
            "config=~(",
            "the query's condition on `config`: the regular expression `(` can't be read: unclosed group",
        ),
        ("config=%4", "the query has a `%` at column 8"),
        ("é=1&config=%zz", "the query has a `%` at column 12"),
        ("config=~(x{900}){900}", "is too large when it is compiled"),
    ] {
        let error = text.parse::<Query>().expect_err(text).to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
    let long = format!("a=~{}", "x".repeat(1001));
    assert!(
        long.parse::<Query>()
            .unwrap_err()
            .to_string()
            .contains("1001 bytes is too long")
    );
    let many = "a=b&".repeat(10_001);
    assert!(
        many.parse::<Query>()
            .unwrap_err()
            .to_string()
            .contains("10000 conditions")
    );
    assert!(Pattern::new("^x").unwrap().is_match("x86"));
}

#[test]
fn an_unknown_key_or_value_names_the_nearest() {
    let traces = [id(",arch=x86,config=8888,"), id(",arch=arm64,config=gpu,")];
    let known: ParamSet = traces.iter().collect();
    let warnings = |query: &str| -> Vec<String> {
        let unknown = unknown_names(&query.parse().unwrap(), &known);
        unknown.iter().map(ToString::to_string).collect()
    };
    assert_eq!(warnings("arch=x86&config=~9&arch=!arm64"), [""; 0]);
    assert_eq!(
        warnings("confg=8888"),
        ["no trace has the key `confg`; the nearest is `config`"]
    );
    assert_eq!(
        warnings("arch=X87"),
        ["no trace has `X87` as `arch`; the nearest is `x86`"]
    );
    assert_eq!(
        warnings("arch=!arm"),
        ["no trace has `arm` as `arch`; the nearest is `arm64`"]
    );
    assert_eq!(warnings("zzz=1"), ["no trace has the key `zzz`"]);
    assert!(
        unknown_names(&"a=1".parse().unwrap(), &ParamSet::default())[0]
            .to_string()
            .contains("`a`")
    );
}

#[test]
fn missing_is_1e32_outside_and_nan_inside() {
    assert_eq!(to_exchange(f64::NAN), 1e32);
    assert!(from_exchange(1e32).is_nan() && from_exchange(f64::from(1e32_f32)).is_nan());
    assert_eq!((to_exchange(2.0), from_exchange(9.9e31)), (2.0, 9.9e31));
}

#[test]
fn a_frame_has_a_value_for_each_commit() {
    let commits = |it: &[u32]| it.iter().copied().map(CommitNumber).collect::<Vec<_>>();
    let columns = Columns::list(commits(&[3, 5, 9])).unwrap();
    assert_eq!(
        (
            columns.position(CommitNumber(5)),
            columns.position(CommitNumber(4))
        ),
        (Some(1), None)
    );
    assert!(Columns::list(commits(&[3, 3])).is_err());
    let range = Columns::range(CommitNumber(u32::MAX - 1)..=CommitNumber(u32::MAX));
    assert_eq!(
        (range.len(), range.get(1), range.get(2)),
        (2, Some(CommitNumber(u32::MAX)), None)
    );
    assert_eq!(range.position(CommitNumber(0)), None);
    let mut frame = Frame::new(columns);
    let name = || TraceName::from(id(",a=1,"));
    assert!(matches!(
        frame.push(name(), &[1.0]),
        Err(FrameError::Length {
            found: 1,
            wanted: 3
        })
    ));
    let infinite = [1.0, f64::INFINITY, 0.0];
    assert_eq!(frame.push(name(), &infinite), Err(FrameError::Infinite));
    assert!(frame.is_empty() && frame.row(0).is_none());
    frame.push(name(), &[1.0, f64::NAN, 0.0]).unwrap();
    let (columns, names, values) = frame.clone().into_parts();
    assert!(Frame::from_parts(columns.clone(), names.clone(), vec![1.0]).is_err());
    assert_eq!(Frame::from_parts(columns, names, values).unwrap(), frame);
}
