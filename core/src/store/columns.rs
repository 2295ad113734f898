//! One list for each table: the SELECT list, the placeholders, the values and the reader all come
//! from it, so they cannot disagree.

use crate::domain::accounts::TestKeysManage;
use crate::domain::exports::ExportStatus;
use crate::domain::second_factor::passkeys::Algorithm;
use crate::domain::tasks::approval::ApprovalStatus;
use crate::domain::tasks::{Category, Priority, ProofType, Skill, TaskType};
use crate::domain::{
    AccountId, AccountStatus, ActorKind, AdminKeyId, AdminRole, ApiKeyId, ChallengeId,
    ChallengePurpose, ChargeDisputeStatus, DeliveryStatus, Environment, EventId, EventType,
    ExportId, JobKind, LinkPurpose, LogId, MailLinkId, NotificationId, NotificationKind,
    NotificationStatus, OutgoingKind, PasskeyId, PaymentStatus, PayoutStatus, PersonKind,
    ProcessorName, ProofId, ProofStatus, ProposalKind, PushSubscriptionId, QueueItemId, QueueKind,
    QueueStatus, QuoteId, SessionId, Status, Step, TaskId, Tier, UploadId, VerificationFileId,
    WorkerId, WorkerStatus,
};
use crate::store::engine::{Cell, Column, Value};

/// Declares the columns that a statement reads or writes.
///
/// ```ignore
/// columns! {
///     macro key;                                    // what this list is called
///     table api_keys;
///     fn key_values<'a>(key: &'a ApiKey, hash: &'a str);
///     columns {                                     // column: the value to write
///         id: key.id,
///         kind = "type": key.kind,                  // where the column's name is a keyword
///     }
///     inserted { key_hash: hash }                   // written by an INSERT, not read
///     parameters { expected: key.status }           // further values, which are no columns
///     row ApiKey = ApiKey { id, kind };             // each column is a variable of its name
/// }
/// ```
///
/// | In a statement | Stands for |
/// |---|---|
/// | `key!(columns)` | `id, type` |
/// | `key!(insert)` | `INSERT INTO api_keys (id, type, key_hash) VALUES (?1, ?2, ?3)` |
/// | `key!(into)`, `key!(placeholders)` | the two halves of it |
/// | `key!(set)` | `id = ?1, type = ?2` |
/// | `key!(add)` | `id = id + ?1, type = type + ?2` |
/// | `key!(sums)` | the sum of each column, 0 over no rows |
/// | `key!(expected)` | `?4`: the placeholder of any name in the list |
///
/// `key_values` returns the values in the order of their placeholders. `row` implements `FromRow`;
/// a column that it does not use is a compiler warning. A list that is only read has no `table` and
/// no values, and may name expressions: `account = "k.account_id"`. One that is not read has no
/// `row`.
macro_rules! columns {
    (
        macro $name:ident;
        columns { $($column:ident $(= $sql:literal)?),+ $(,)? }
        row $row:ty = $read:expr;
    ) => {
        crate::store::columns::number_columns!(
            $name none { $(column $column $(= $sql)?,)+ } [] {} {} {}
        );
        crate::store::columns::read_columns!({ $($column)+ } $row = $read);
    };
    (
        macro $name:ident;
        table $table:ident;
        fn $values:ident<$life:lifetime>($($argument:ident: $type:ty),+ $(,)?);
        columns { $($column:ident $(= $sql:literal)?: $value:expr),+ $(,)? }
        $(inserted { $($inserted:ident: $inserted_value:expr),+ $(,)? })?
        $(parameters { $($parameter:ident: $parameter_value:expr),+ $(,)? })?
        $(row $row:ty = $read:expr;)?
    ) => {
        crate::store::columns::number_columns!(
            $name $table {
                $(column $column $(= $sql)?,)+
                $($(inserted $inserted,)+)?
                $($(parameter $parameter,)+)?
            }
            [
                "?1" "?2" "?3" "?4" "?5" "?6" "?7" "?8" "?9" "?10" "?11" "?12" "?13" "?14" "?15"
                "?16" "?17" "?18" "?19" "?20" "?21" "?22" "?23" "?24" "?25" "?26" "?27" "?28"
                "?29" "?30" "?31" "?32" "?33" "?34" "?35" "?36" "?37" "?38" "?39" "?40"
            ]
            {} {} {}
        );
        fn $values<$life>(
            $($argument: $type),+
        ) -> [crate::store::Value<$life>; [
            $(stringify!($column),)+
            $($(stringify!($inserted),)+)?
            $($(stringify!($parameter),)+)?
        ].len()] {
            [
                $($value.into(),)+
                $($($inserted_value.into(),)+)?
                $($($parameter_value.into(),)+)?
            ]
        }
        crate::store::columns::read_columns!({ $($column)+ } $($row = $read)?);
    };
}

/// Gives each name its SQL and its placeholder, then defines the macro that puts them into
/// statements.
macro_rules! number_columns {
    ($name:ident $table:ident { column $column:ident = $sql:literal, $($rest:tt)* }
        [$($free:tt)*] { $($done:tt)* } $inserted:tt $parameters:tt) => {
        crate::store::columns::number_columns!(@take $name $table { $($rest)* }
            [$($free)*] { $($done)* $column [$sql] } $inserted $parameters);
    };
    ($name:ident $table:ident { column $column:ident, $($rest:tt)* }
        [$($free:tt)*] { $($done:tt)* } $inserted:tt $parameters:tt) => {
        crate::store::columns::number_columns!(@take $name $table { $($rest)* }
            [$($free)*] { $($done)* $column [stringify!($column)] } $inserted $parameters);
    };
    // A list that is only read has no placeholders.
    (@take $name:ident $table:ident $rest:tt
        [] { $($done:tt)* } $inserted:tt $parameters:tt) => {
        crate::store::columns::number_columns!($name $table $rest
            [] { $($done)* "", } $inserted $parameters);
    };
    (@take $name:ident $table:ident $rest:tt
        [$next:tt $($free:tt)*] { $($done:tt)* } $inserted:tt $parameters:tt) => {
        crate::store::columns::number_columns!($name $table $rest
            [$($free)*] { $($done)* $next, } $inserted $parameters);
    };
    ($name:ident $table:ident { inserted $column:ident, $($rest:tt)* }
        [$next:tt $($free:tt)*] $done:tt { $($inserted:tt)* } $parameters:tt) => {
        crate::store::columns::number_columns!($name $table { $($rest)* }
            [$($free)*] $done { $($inserted)* $column $next, } $parameters);
    };
    ($name:ident $table:ident { parameter $column:ident, $($rest:tt)* }
        [$next:tt $($free:tt)*] $done:tt $inserted:tt { $($parameters:tt)* }) => {
        crate::store::columns::number_columns!($name $table { $($rest)* }
            [$($free)*] $done $inserted { $($parameters)* $column $next, });
    };
    ($name:ident $table:ident {} [$($free:tt)*]
        {
            $first:ident [$($first_sql:tt)+] $first_number:tt,
            $($column:ident [$($sql:tt)+] $number:tt,)*
        }
        { $($inserted:ident $inserted_number:tt,)* }
        { $($parameter:ident $parameter_number:tt,)* }
    ) => {
        macro_rules! $name {
            (columns) => { concat!($($first_sql)+ $(, ", ", $($sql)+)*) };
            (insert) => { concat!($name!(into), " VALUES (", $name!(placeholders), ")") };
            (into) => {
                concat!(
                    "INSERT INTO ", stringify!($table), " (", $($first_sql)+
                    $(, ", ", $($sql)+)* $(, ", ", stringify!($inserted))*, ")"
                )
            };
            (placeholders) => {
                concat!($first_number $(, ", ", $number)* $(, ", ", $inserted_number)*)
            };
            (set) => {
                concat!(
                    $($first_sql)+, " = ", $first_number
                    $(, ", ", $($sql)+, " = ", $number)*
                )
            };
            (add) => {
                concat!(
                    $($first_sql)+, " = ", $($first_sql)+, " + ", $first_number
                    $(, ", ", $($sql)+, " = ", $($sql)+, " + ", $number)*
                )
            };
            (sums) => {
                concat!(
                    "CAST(COALESCE(SUM(", $($first_sql)+, "), 0) AS BIGINT)"
                    $(, ", CAST(COALESCE(SUM(", $($sql)+, "), 0) AS BIGINT)")*
                )
            };
            ($first) => { $first_number };
            $(($column) => { $number };)*
            $(($inserted) => { $inserted_number };)*
            $(($parameter) => { $parameter_number };)*
        }
    };
}

macro_rules! read_columns {
    ({ $($column:ident)+ }) => {};
    ({ $($column:ident)+ } $row:ty = $read:expr) => {
        impl crate::store::FromRow for $row {
            fn from_row(
                row: &mut crate::store::Row<'_>,
            ) -> Result<Self, crate::store::StoreError> {
                $(let $column = row.next()?;)+
                Ok($read)
            }
        }
    };
}

pub(in crate::store) use {columns, number_columns, read_columns};

/// Ids are stored as they are written.
macro_rules! id_columns {
    ($($id:ident),+ $(,)?) => { $(
        impl From<$id> for Value<'_> {
            fn from(id: $id) -> Self {
                id.to_string().into()
            }
        }

        impl Column for $id {
            fn read(cell: Cell<'_>) -> Option<Self> {
                cell.text().and_then(Self::parse)
            }
        }
    )+ };
}

id_columns!(
    AccountId,
    AdminKeyId,
    ApiKeyId,
    ChallengeId,
    EventId,
    ExportId,
    LogId,
    MailLinkId,
    NotificationId,
    PasskeyId,
    ProofId,
    PushSubscriptionId,
    QueueItemId,
    QuoteId,
    SessionId,
    TaskId,
    UploadId,
    VerificationFileId,
    WorkerId,
);

/// Enums are stored as their strings, and lists of them as JSON arrays.
macro_rules! enum_columns {
    ($($enum:ident),+ $(,)?) => { $(
        impl From<$enum> for Value<'_> {
            fn from(value: $enum) -> Self {
                value.as_str().into()
            }
        }

        impl Column for $enum {
            fn read(cell: Cell<'_>) -> Option<Self> {
                cell.text().and_then(Self::parse)
            }
        }

        impl From<&Vec<$enum>> for Value<'_> {
            fn from(list: &Vec<$enum>) -> Self {
                list.as_slice().into()
            }
        }

        impl From<&[$enum]> for Value<'_> {
            fn from(list: &[$enum]) -> Self {
                let strings: Vec<_> = list.iter().map(|value| value.as_str()).collect();
                serde_json::Value::from(strings).to_string().into()
            }
        }

        impl Column for Vec<$enum> {
            fn read(cell: Cell<'_>) -> Option<Self> {
                parse_list(cell.text()?, $enum::parse)
            }
        }
    )+ };
}

enum_columns!(
    AccountStatus,
    ActorKind,
    AdminRole,
    Algorithm,
    ApprovalStatus,
    Category,
    ChallengePurpose,
    ChargeDisputeStatus,
    DeliveryStatus,
    Environment,
    EventType,
    ExportStatus,
    JobKind,
    LinkPurpose,
    NotificationKind,
    NotificationStatus,
    OutgoingKind,
    PaymentStatus,
    PayoutStatus,
    PersonKind,
    Priority,
    ProcessorName,
    ProofStatus,
    ProofType,
    ProposalKind,
    QueueKind,
    QueueStatus,
    Skill,
    Status,
    Step,
    TaskType,
    TestKeysManage,
    Tier,
    WorkerStatus,
);

impl From<&Vec<String>> for Value<'_> {
    fn from(list: &Vec<String>) -> Self {
        serde_json::Value::from(list.as_slice()).to_string().into()
    }
}

impl Column for Vec<String> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        serde_json::from_str(cell.text()?).ok()
    }
}

/// Reads a JSON array of enum strings; none when one is not known. Such strings need no escapes, so
/// the array can be split at its quotes: this is faster than a parser, and every task read does it
/// twice.
fn parse_list<T>(json: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    if json == "[]" {
        return Some(Vec::new());
    }
    let strings = json.strip_prefix("[\"")?.strip_suffix("\"]")?;
    strings.split("\",\"").map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_enums_are_read_as_serde_json_writes_them() {
        let known = |string: &str| {
            ["photo", "video"]
                .contains(&string)
                .then(|| string.to_owned())
        };
        for list in [vec![], vec!["photo"], vec!["video", "photo"]] {
            let json = serde_json::Value::from(list.clone()).to_string();
            assert_eq!(parse_list(&json, known).unwrap(), list);
        }
        for json in ["", "[", "[\"]", "[\"audio\"]", "[\"photo\"", "{}", "[1]"] {
            assert_eq!(parse_list(json, known), None, "{json}");
        }
    }

    struct Parcel<'a> {
        id: i64,
        kind: &'a str,
    }

    columns! {
        macro parcel;
        table parcels;
        fn parcel_values<'a>(parcel: &'a Parcel<'a>, secret: &'a str, expected: i64);
        columns { id: parcel.id, kind = "type": parcel.kind }
        inserted { secret: secret }
        parameters { expected: expected }
    }

    #[test]
    fn a_list_gives_the_parts_of_statements_and_their_values() {
        assert_eq!(parcel!(columns), "id, type");
        assert_eq!(
            parcel!(insert),
            "INSERT INTO parcels (id, type, secret) VALUES (?1, ?2, ?3)"
        );
        assert_eq!(parcel!(set), "id = ?1, type = ?2");
        let numbers = [
            parcel!(id),
            parcel!(kind),
            parcel!(secret),
            parcel!(expected),
        ];
        assert_eq!(numbers, ["?1", "?2", "?3", "?4"]);
        let parcel = Parcel { id: 7, kind: "box" };
        let values = parcel_values(&parcel, "hush", 9);
        assert_eq!(
            values,
            [7i64.into(), "box".into(), "hush".into(), 9i64.into()]
        );
    }
}
