//! Money: how it comes in, where it is, how it goes out; whatever fails.

mod funding;
mod paying_out;
