/** Events as they happen. */

import type { Client } from "./client.js";
import { AnswerError, APIError, EventsLostError, NetworkError, TimedOutError } from "./errors.js";
import { backoff, isObject, isPassing, LONGEST_WAIT_MS, sleep } from "./http.js";
import type { Event, EventFilter, EventType } from "./objects.js";

/** The server sends a comment every 15 seconds. Who hears nothing for this long has lost it. */
const SILENCE_MS = 45_000;
/** A connection that was good for this long, or for an event, was a good one. */
const STEADY_MS = 10_000;
/** How often a task is looked at by somebody who waits for it without a stream. */
const LOOK_EVERY_MS = 3_000;

export interface StreamOptions {
  /** Begin after the event with this id. Without it, the stream begins now. */
  after?: string;
  /** Only these types. */
  types?: EventType[];
  /** Only the events of this task. */
  taskId?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
}

/**
 * Events, in order, none twice and none missing.
 *
 * When the connection breaks, the stream connects again and goes on where it was. It numbers what it gets: events that are
 * missing in between are read from the event list.
 */
export class EventStream implements AsyncIterableIterator<Event> {
  /** The id of the last event, from which another stream can go on. */
  position: string | undefined;
  /** How often the connection was lost. */
  reconnects = 0;
  /** How many events were missing on the stream and read from the list. */
  filled = 0;
  private number: number | undefined;
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  private connection = new AbortController();
  private text = "";
  private decoder = new TextDecoder();
  private readonly ready: Event[] = [];
  private failures = 0;
  private isKnown = false;
  private opened = 0;
  /** Between two looks of somebody who waits, once there is no stream for them. */
  private pauseMs: number | undefined;

  constructor(
    private readonly client: Client,
    private readonly options: StreamOptions = {},
  ) {
    this.position = options.after;
    options.signal?.addEventListener("abort", () => this.close());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next event. It waits for as long as it takes; a connection that breaks is no error. A server that was never reached
   * is one, a key that is refused, and events that are no longer kept.
   */
  async next(): Promise<IteratorResult<Event, undefined>> {
    while (!this.isOver()) {
      for (let event = this.take(); event; event = this.take()) {
        if (!this.options.types || this.options.types.includes(event.event)) return { done: false, value: event };
      }
      await this.wait();
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  /** Connects, if it is not connected: from now on no event is missed. */
  async connect(): Promise<void> {
    while (!this.reader && !this.isOver()) await this.wait();
  }

  close(): void {
    this.connection.abort();
    this.reader = undefined;
  }

  private isOver(): boolean {
    return this.options.signal?.aborted ?? false;
  }

  /**
   * Until there may be something new: another connection, or an event. A comment is nothing new. When the account has no more
   * streams, it is a pause.
   * @internal
   */
  async news(): Promise<void> {
    const before = this.reader;
    const isNothingNew = () => this.ready.length === 0 && (!this.reader || this.reader === before);
    try {
      while (this.pauseMs === undefined && isNothingNew()) await this.wait(false);
    } catch (error) {
      if (!isCrowded(error)) throw error;
      this.pauseMs = Math.min(Math.max(LOOK_EVERY_MS, (error.retryAfter ?? 0) * 1000), LONGEST_WAIT_MS);
    }
    if (this.pauseMs !== undefined) await sleep(Math.min(this.pauseMs, this.client.http.left()));
    while (this.take());
  }

  private take(): Event | undefined {
    const event = this.ready.shift();
    if (event) {
      this.position = event.id;
      this.number = event.number;
    }
    return event;
  }

  /**
   * Until something happens: an event, a comment, a connection, a failure that passes. Only who is patient waits for a free
   * stream.
   */
  private async wait(isPatient = true): Promise<void> {
    const { http } = this.client;
    try {
      if (http.left() === 0) throw new TimedOutError("there is no time left");
      await (this.reader ? this.receive(this.reader) : this.reconnect());
    } catch (error) {
      this.close();
      if (this.isOver()) return;
      if (!isPatient && isCrowded(error)) throw error;
      const isHopeless = !this.isKnown && this.failures >= http.maxRetries;
      if (!isPassing(error) || isHopeless || http.left() === 0) throw error;
      this.reconnects++;
      // The first time at once: servers restart.
      if (this.failures > 0) await sleep(Math.min(backoff(this.failures - 1), http.left()));
      this.failures++;
    }
  }

  private async receive(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const silence = setTimeout(() => this.connection.abort(), Math.min(SILENCE_MS, this.client.http.left()));
    const read = this.client.http.guard(() => reader.read());
    const { done, value } = await read.finally(() => clearTimeout(silence));
    if (done) throw new NetworkError("the server ended the event stream");
    this.text += this.decoder.decode(value, { stream: true });
    const messages = this.text.split("\n\n");
    this.text = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length === 0) continue;
      await this.accept(parsed(data.map((line) => line.slice(5)).join("\n")));
      this.failures = 0;
    }
    if (performance.now() - this.opened > STEADY_MS) this.failures = 0;
  }

  private async reconnect(): Promise<void> {
    this.text = "";
    this.decoder = new TextDecoder();
    if (this.position === undefined && this.number === undefined) await this.beginNow();
    try {
      await this.open(this.position);
    } catch (error) {
      const isTooOld = error instanceof APIError && error.code === "VALIDATION_ERROR";
      if (!isTooOld || this.number === undefined) throw error;
      // The event that was last is no longer kept. What is kept after it is in the list.
      await this.open(undefined);
      return this.fill(this.number, undefined);
    }
    // Without an id to go on from, what came before the connection is in the list.
    if (this.position === undefined && this.number !== undefined) await this.fill(this.number, undefined);
  }

  private async open(position: string | undefined): Promise<void> {
    this.connection = new AbortController();
    const { signal } = this.connection;
    const { http } = this.client;
    const late = setTimeout(() => this.connection.abort(), Math.min(http.timeoutMs, http.left()));
    const query = { task_id: this.options.taskId };
    const headers = { Accept: "text/event-stream", ...(position ? { "Last-Event-ID": position } : {}) };
    const answered = http.open({ method: "GET", path: "/v1/events/stream", query }, headers, signal);
    const answer = await answered.finally(() => clearTimeout(late));
    if (!answer.body || !answer.headers.get("content-type")?.startsWith("text/event-stream"))
      throw new AnswerError(`${http.baseUrl} did not answer as Legwork does: this is no event stream`);
    this.reader = answer.body.getReader();
    this.isKnown = true;
    this.opened = performance.now();
  }

  /** A connection may break before the first event: so the place where the stream begins is known before it connects. */
  private async beginNow(): Promise<void> {
    const [newest] = (await this.client.events.list({ limit: 1 }).nextPage()) ?? [];
    this.number = newest?.number ?? 0;
    this.position = newest?.id;
  }

  /** Takes an event, after those that are missing before it. */
  private async accept(event: Event): Promise<void> {
    const last = this.ready.at(-1)?.number ?? this.number;
    if (last !== undefined && event.number <= last) return;
    try {
      // The events of one task have numbers of their own choice.
      if (last !== undefined && event.number > last + 1 && !this.options.taskId) await this.fill(last, event.number);
    } catch (error) {
      if (error instanceof EventsLostError) this.ready.push(event);
      throw error;
    }
    this.ready.push(event);
  }

  /** Reads the events between two numbers from the list, which is newest first. */
  private async fill(after: number, before: number | undefined): Promise<void> {
    const filter: EventFilter = this.options.taskId ? { limit: 100, task_id: this.options.taskId } : { limit: 100 };
    const missing: Event[] = [];
    for await (const event of this.client.events.list(filter)) {
      if (event.number <= after) break;
      if (before === undefined || event.number < before) missing.unshift(event);
    }
    this.filled += missing.length;
    this.ready.push(...missing);
    const first = missing[0]?.number ?? before;
    if (first !== undefined && first > after + 1 && !this.options.taskId) throw new EventsLostError(after, first);
  }
}

/** An account has only so many streams. */
function isCrowded(error: unknown): error is APIError | AnswerError {
  return (error instanceof APIError || error instanceof AnswerError) && error.status === 429;
}

function parsed(data: string): Event {
  let found: unknown;
  try {
    found = JSON.parse(data);
  } catch (error) {
    throw new AnswerError("the event stream sent what is not JSON", { cause: error });
  }
  const isEvent = isObject(found) && typeof found["id"] === "string" && typeof found["number"] === "number";
  if (!isEvent) throw new AnswerError("the event stream sent what is no event");
  return found as unknown as Event;
}
