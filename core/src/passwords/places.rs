//! Where those wait whose password is to be hashed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{Applicant, Network};

/// For those who are known, and for strangers. The last of them waits for about three seconds.
pub const PLACES: usize = 132;

#[derive(Default)]
pub struct Places {
    known: Mutex<Taken>,
    strangers: Mutex<Taken>,
}

/// How many places each address has, and all of them together.
#[derive(Default)]
struct Taken {
    by_network: HashMap<Network, usize>,
    total: usize,
}

/// Is free again when it is dropped.
pub struct Place {
    places: Arc<Places>,
    applicant: Applicant,
}

impl Places {
    pub fn take(self: &Arc<Self>, applicant: Applicant) -> Option<Place> {
        let is_free = self.of(applicant).take(applicant.network);
        is_free.then(|| Place {
            places: self.clone(),
            applicant,
        })
    }

    fn of(&self, applicant: Applicant) -> MutexGuard<'_, Taken> {
        let taken = match applicant.is_known {
            true => &self.known,
            false => &self.strangers,
        };
        taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn take(&mut self, network: Network) -> bool {
        let has_one = self.by_network.contains_key(&network);
        let most = if has_one { PLACES / 2 } else { PLACES };
        if self.total >= most {
            return false;
        }
        *self.by_network.entry(network).or_default() += 1;
        self.total += 1;
        true
    }

    fn give_back(&mut self, network: Network) {
        self.total -= 1;
        if let Some(held) = self.by_network.get_mut(&network) {
            *held -= 1;
            if *held == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places
            .of(self.applicant)
            .give_back(self.applicant.network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ClientAddress;
    use std::net::{IpAddr, Ipv4Addr};

    fn client(number: u32) -> ClientAddress {
        ClientAddress::from(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn stranger(number: u32) -> Applicant {
        Applicant::stranger(client(number))
    }

    #[test]
    fn those_who_send_many_leave_a_place_for_each_of_the_others() {
        let places = Arc::new(Places::default());
        let of = |applicant| (0..1_000).map_while(move |_| Some(applicant));
        let mut held: Vec<_> = of(stranger(0)).map_while(|one| places.take(one)).collect();
        assert_eq!(held.len(), PLACES / 2);
        for number in 0..PLACES as u32 / 2 {
            assert!(places.take(stranger(0)).is_none());
            held.extend(places.take(stranger(1 + number)));
        }
        assert_eq!(held.len(), PLACES);
        assert!(places.take(stranger(1_000)).is_none());
        // Those who are known have places of their own.
        assert!(places.take(Applicant::known(client(0))).is_some());
        held.clear();
        assert!(places.take(stranger(0)).is_some());
        assert!(places.strangers.lock().unwrap().by_network.is_empty());
    }
}
