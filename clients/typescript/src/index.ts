/** Hire people for physical work from a program: the client of Legwork's API. */

export * from "./client.js";
export * from "./errors.js";
export { EventStream, type StreamOptions } from "./events.js";
export { DEFAULT_BASE_URL, VERSION, type ClientOptions } from "./http.js";
export * from "./objects.js";
export * from "./webhooks.js";
