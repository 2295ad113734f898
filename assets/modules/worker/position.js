// Where the device says it is: until it knows to 50 m, or for 20 seconds at a time.
export const NEAR = 500;
const GOOD = 50;
const PATIENCE = 20_000;
// Phones that share only an approximate position say so by how inexact it is.
const APPROXIMATE = 1000;
const KEPT = 20;

// The way over the ground, in metres.
export function between(one, other) {
  const radians = (degrees) => (degrees * Math.PI) / 180;
  const north = radians(other.latitude - one.latitude);
  const east = radians(other.longitude - one.longitude);
  const a = Math.sin(north / 2) ** 2
    + Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude)) * Math.sin(east / 2) ** 2;
  return 2 * 6_371_000 * Math.asin(Math.min(1, Math.sqrt(a)));
}

export class Position {
  fixes = [];
  // "waiting", "known", "approximate", "denied" or "unavailable".
  state = "waiting";
  #watch = null;
  #timer = null;

  constructor(changed) {
    this.changed = changed;
  }

  begin() {
    if (!navigator.geolocation) return this.#turn("unavailable");
    this.end();
    this.#watch = navigator.geolocation.watchPosition(
      ({ coords, timestamp }) => this.#add(coords, timestamp),
      (error) => this.#turn(error.code === error.PERMISSION_DENIED ? "denied" : this.best() ? this.state : "unavailable"),
      { enableHighAccuracy: true, maximumAge: 5000 },
    );
    this.#timer = setTimeout(() => this.#late(), PATIENCE);
  }

  end() {
    if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
    clearTimeout(this.#timer);
    this.#watch = null;
  }

  #add({ latitude, longitude, accuracy }, timestamp) {
    this.fixes.push({ latitude, longitude, accuracy_meters: Math.min(accuracy, 100_000), at: new Date(timestamp).toISOString() });
    this.fixes = this.fixes.slice(-KEPT);
    this.#turn(accuracy >= APPROXIMATE ? "approximate" : "known");
    if (accuracy <= GOOD) this.end();
  }

  #late() {
    this.end();
    this.#turn(this.best() ? this.state : "unavailable");
  }

  #turn(state) {
    this.state = state;
    this.changed(this);
  }

  latest() {
    return this.fixes.at(-1);
  }

  // The most exact one of the last two minutes, or the latest.
  best() {
    const recent = this.fixes.filter(({ at }) => Date.now() - Date.parse(at) < 120_000);
    recent.sort((one, other) => one.accuracy_meters - other.accuracy_meters);
    return recent[0] ?? this.latest();
  }
}
