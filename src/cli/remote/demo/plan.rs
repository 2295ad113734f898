//! Who lives in the town and what is to be done there: all of it from a number, so that the same number gives the same town.

use serde_json::{Value, json};

pub struct Place {
    pub name: &'static str,
    city: &'static str,
    state: &'static str,
    latitude: f64,
    longitude: f64,
    streets: &'static [&'static str],
}

pub const PLACES: &[Place] = &[
    Place {
        name: "brooklyn",
        city: "Brooklyn",
        state: "NY",
        latitude: 40.6782,
        longitude: -73.9442,
        streets: &[
            "Bedford Avenue",
            "Court Street",
            "Fulton Street",
            "Smith Street",
            "Flatbush Avenue",
        ],
    },
    Place {
        name: "austin",
        city: "Austin",
        state: "TX",
        latitude: 30.2672,
        longitude: -97.7431,
        streets: &[
            "South Congress Avenue",
            "East 6th Street",
            "Guadalupe Street",
            "Barton Springs Road",
        ],
    },
    Place {
        name: "oakland",
        city: "Oakland",
        state: "CA",
        latitude: 37.8044,
        longitude: -122.2712,
        streets: &[
            "Telegraph Avenue",
            "Broadway",
            "Grand Avenue",
            "Piedmont Avenue",
        ],
    },
];

const NAMES: &[&str] = &[
    "Ada", "Ben", "Carmen", "Dev", "Elif", "Femi", "Grace", "Hiro", "Ines", "Jonas", "Kemi", "Leo",
    "Maya", "Noor", "Omar", "Pia", "Quinn", "Rosa", "Sam", "Tala",
];
const SURNAMES: &[&str] = &[
    "Okafor", "Rivera", "Chen", "Novak", "Haddad", "Larsen", "Singh", "Moreau",
];

/// Title, description, category, and the budget in dollars.
const WORK: &[(&str, &str, &str, i64)] = &[
    (
        "Photograph the storefront",
        "The whole front, with the opening hours in view.",
        "photography",
        25,
    ),
    (
        "Check the price of oat milk",
        "A photo of the shelf label.",
        "data_collection",
        12,
    ),
    (
        "Hang up a poster",
        "In the window, at eye level. A photo from the street.",
        "installation",
        30,
    ),
    (
        "See if the elevator works",
        "A photo of the display, and of the notice if there is one.",
        "inspection",
        18,
    ),
    (
        "Bring a parcel to the neighbour",
        "A photo of the parcel at the door.",
        "delivery",
        22,
    ),
    (
        "Count the bikes at the station",
        "One photo of each rack.",
        "survey",
        15,
    ),
    (
        "Audit the soda shelf",
        "Straight from the front, so that every label can be read.",
        "retail_audit",
        35,
    ),
];

/// Numbers that look random and are always the same (SplitMix64).
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// How somebody works. Times are minutes in the town.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Habit {
    Quick,
    Steady,
    Late,
    /// Takes photos from somewhere else, the first time.
    FarAway,
    /// The first photo is never sharp.
    Blurry,
}

impl Habit {
    pub fn minutes(self, dice: &mut Dice) -> f64 {
        match self {
            Self::Quick => dice.between(1.0, 3.0),
            Self::Late => dice.between(15.0, 40.0),
            _ => dice.between(4.0, 10.0),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Resident {
    pub name: String,
    pub email: String,
    pub latitude: f64,
    pub longitude: f64,
    pub habit: Habit,
}

/// How a task of the past ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Completed,
    /// After another try.
    Redone,
    Cancelled,
}

pub struct Plan {
    pub place: &'static Place,
    pub residents: Vec<Resident>,
    pub past: Vec<(Value, End)>,
    /// For what comes after the past.
    pub dice: Dice,
}

impl Plan {
    pub fn new(place: &'static Place, seed: u64, workers: usize, tasks: usize) -> Self {
        let mut dice = Dice::new(seed);
        let residents = (0..workers)
            .map(|index| resident(place, index, &mut dice))
            .collect();
        let past = (0..tasks).map(|index| {
            let end = match index % 10 {
                3 => End::Cancelled,
                6 => End::Redone,
                _ => End::Completed,
            };
            (task(place, &mut dice), end)
        });
        let past = past.collect();
        Self {
            place,
            residents,
            past,
            dice,
        }
    }

    pub fn next_task(&mut self) -> Value {
        task(self.place, &mut self.dice)
    }
}

fn resident(place: &Place, index: usize, dice: &mut Dice) -> Resident {
    let (first, last) = (*dice.pick(NAMES), *dice.pick(SURNAMES));
    let habits = [
        Habit::Quick,
        Habit::Steady,
        Habit::Steady,
        Habit::Late,
        Habit::FarAway,
        Habit::Blurry,
    ];
    let (latitude, longitude) = somewhere(place, dice);
    Resident {
        name: format!("{first} {last}"),
        email: format!(
            "{}.{}.{}@legwork.example",
            first.to_lowercase(),
            last.to_lowercase(),
            index + 1
        ),
        latitude,
        longitude,
        habit: *dice.pick(&habits),
    }
}

fn task(place: &Place, dice: &mut Dice) -> Value {
    let (title, description, category, dollars) = *dice.pick(WORK);
    let (street, number) = (*dice.pick(place.streets), 1 + dice.below(400));
    let (latitude, longitude) = somewhere(place, dice);
    json!({
        "title": format!("{title} ({street})"), "description": description, "category": category,
        "budget_cents": dollars * 100 + 500 * dice.below(3) as i64,
        "location": {"address": format!("{number} {street}"), "city": place.city, "state": place.state,
            "latitude": latitude, "longitude": longitude},
    })
}

/// Within some four kilometres, to the metre.
fn somewhere(place: &Place, dice: &mut Dice) -> (f64, f64) {
    let to_metre = |degrees: f64| (degrees * 100_000.0).round() / 100_000.0;
    let (north, east) = (dice.between(-0.035, 0.035), dice.between(-0.045, 0.045));
    (
        to_metre(place.latitude + north),
        to_metre(place.longitude + east),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_town() {
        let town = |seed| {
            let mut plan = Plan::new(&PLACES[0], seed, 40, 60);
            let next = [plan.next_task(), plan.next_task()];
            (plan.residents, plan.past, next)
        };
        assert_eq!(town(7), town(7));
        assert_ne!(town(7), town(8));
        let (residents, past, _) = town(7);
        assert_eq!((residents.len(), past.len()), (40, 60));
        for habit in [Habit::Quick, Habit::Late, Habit::FarAway, Habit::Blurry] {
            assert!(
                residents.iter().any(|resident| resident.habit == habit),
                "{habit:?}"
            );
        }
    }
}
