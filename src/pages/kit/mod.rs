//! What all pages are made of: layout, forms, sessions, assets, and words for money and time.

pub mod assets;
pub mod bars;
pub mod device;
pub mod factor;
pub mod form;
pub mod guard;
pub mod html;
pub mod layout;
pub mod map;
pub mod passkeys;
pub mod route;
pub mod session;
pub mod whose;
pub mod words;
