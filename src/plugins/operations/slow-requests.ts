// `GET /operations/slow`: the slowest requests of the last hour. Each process keeps the slowest of each ten minutes.
import type { JsonObject } from '../../base/json.ts';
import type { Clock } from '../../base/clock.ts';
import type { Observation, RequestObservation } from '../../contracts/observer.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { describeLimit, limitOf, readPlainParameters } from '../../engine/plain-parameters.ts';
import { round } from './duration-histogram.ts';
import { TimeRing } from './time-ring.ts';

/** A slow request, which can be sent to another process. */
export type SlowRequest = JsonObject & { readonly milliseconds: number };

const windowMs = 600_000;
const windows = 6;
const maxPerWindow = 50;
const maxPage = 200;
const pageByDefault = 50;
/** Longer paths, queries and user ids are cut. */
const maxChars = 1000;

class Slowest {
  readonly #found: SlowRequest[] = [];
  /** Duration that a request must exceed to be kept. */
  #leastMs = -1;

  add(milliseconds: number, create: () => SlowRequest): void {
    if (milliseconds <= this.#leastMs) return;
    const place = this.#found.findIndex((other) => other.milliseconds < milliseconds);
    this.#found.splice(place === -1 ? this.#found.length : place, 0, create());
    if (this.#found.length > maxPerWindow) this.#found.pop();
    if (this.#found.length === maxPerWindow) this.#leastMs = this.#found.at(-1)!.milliseconds;
  }

  get all(): readonly SlowRequest[] {
    return this.#found;
  }
}

export class SlowRequests {
  readonly #clock: Clock;
  readonly #ring = new TimeRing({ stepMs: windowMs, steps: windows, create: () => new Slowest() });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param now milliseconds since 1970 UTC */
  observe(observation: Observation, now: number): void {
    if (observation.kind !== 'request') return;
    this.#ring.at(now).add(observation.milliseconds, () => describeRequest(observation, now));
  }

  report(): readonly SlowRequest[] {
    return this.#ring.until(this.#clock.now()).flatMap(({ value }) => value.all);
  }
}

function describeRequest(observation: RequestObservation, time: number): SlowRequest {
  const { method, route, path, query, status, milliseconds, userId, requestId, entries, plan } = observation;
  return {
    time,
    milliseconds: round(milliseconds),
    method,
    status,
    pid: process.pid,
    route: route ?? null,
    path: cut(path),
    query: cut(query),
    user_id: userId === undefined ? null : cut(userId),
    request_id: cut(requestId),
    batch_entries: entries?.length ?? null,
    plan: plan === undefined ? null : cut(plan),
  };
}

function cut(text: string): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/**
 * Returns the endpoint, without a check of access.
 *
 * @param askProcesses returns the slowest requests of all processes
 */
export function slowEndpoint(askProcesses: () => Promise<readonly SlowRequest[]>): Endpoint {
  const handle = async (context: Context): Promise<ServiceResponse> => {
    const { _limit = pageByDefault } = readPlainParameters(context, { _limit: limitOf(maxPage) });
    const all = (await askProcesses()).toSorted((a, b) => b.milliseconds - a.milliseconds);
    return jsonResponse(200, { data: all.slice(0, _limit) });
  };
  return {
    name: 'operations-slow',
    tag: 'operations',
    path: '/operations/slow',
    isResource: false,
    operations: forReading('get_slow_requests', { handle, describe }),
  };
}

function describe(): OperationDescription {
  const text = { type: 'string' };
  const optional = { type: ['string', 'null'] };
  const items = objectWith({
    time: { type: 'integer' },
    milliseconds: { type: 'number' },
    method: text,
    status: { type: 'integer' },
    pid: { type: 'integer' },
    route: optional,
    path: text,
    query: text,
    user_id: optional,
    request_id: text,
    batch_entries: { type: ['integer', 'null'] },
    plan: optional,
  });
  const schema = objectWith({ data: { type: 'array', items } });
  return {
    summary: 'Returns the slowest requests of the last hour.',
    parameters: [describeLimit(maxPage, pageByDefault)],
    responses: { 200: { description: 'The requests, slowest first.', schema } },
  };
}
