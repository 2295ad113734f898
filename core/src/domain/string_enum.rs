//! Enums with a fixed string for each variant, as used in JSON and in the database.

/// An enum whose variants are written as fixed words.
pub trait StringEnum: Copy + PartialEq + utoipa::ToSchema + 'static {
    fn parse(word: &str) -> Option<Self>;

    /// The rule for a word that comes from outside.
    fn rule(word: &str) -> Result<Self, String>;
}

/// Declares an enum whose variants are written as fixed words.
macro_rules! string_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$note])* $variant),+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// Parses input, with a message for the caller on failure.
            pub fn rule(word: &str) -> Result<Self, String> {
                Self::parse(word).ok_or_else(|| {
                    concat!("must be one of: ", string_enum!(@list $($word),+)).to_owned()
                })
            }
        }

        impl $crate::domain::StringEnum for $name {
            fn parse(word: &str) -> Option<Self> {
                Self::parse(word)
            }

            fn rule(word: &str) -> Result<Self, String> {
                Self::rule(word)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .enum_values(Some([$($word),+]))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    (@list $first:literal $(, $rest:literal)*) => { concat!($first $(, ", ", $rest)*) };
}

pub(crate) use string_enum;
